// Package finding owns findings: it reads them from a sidecar or from SARIF, gives each an identity that survives moved
// lines, and writes them as SARIF and as annotations for a forge.
package finding
