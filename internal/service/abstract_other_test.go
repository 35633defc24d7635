//go:build !linux

package service

const abstract = false
