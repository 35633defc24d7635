// Package extension owns extensions: where their manifests are, what they say, which of them serves a capability of a
// component, and the settings that its script gets. The built-in ones are embedded here. It runs nothing.
package extension
