// Package runtimepkg owns agent runtime packages: where they are, how they are installed, what their manifests lack, which
// provider a request gets, and whether that provider is ready. It decides and checks. It starts the probes that a manifest
// declares and nothing else: a provider's command is the driver's to run.
package runtimepkg
