// Package project owns the configuration of a component: homeboy.json, and the checks of deed.yaml. It reads them, and
// writes baselines back without touching anything else in the file. It knows no extension and runs nothing.
package project
