package bundle

import (
	"io"
	"slices"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// checkAttestation checks that the bundle is what its attestation was signed for, and by whom.
func (v *verification) checkAttestation() {
	sig := &v.out.Signature
	f := v.listed(PathAttestation)
	if f.path == "" {
		sig.Status = SignatureUnsigned
		if v.o.RequireSignature || len(v.o.Keys) > 0 {
			v.add(CodeSignatureMissing, PathAttestation, PathAttestation, "a signature is asked for and the bundle has none")
		}
		return
	}
	invalid := func(code, path, format string, args ...any) {
		v.add(code, path, PathAttestation, format, args...)
		sig.Status = SignatureInvalid
	}
	data, err := v.readAttestation(f)
	if err != nil {
		invalid(CodeAttestationInvalid, PathAttestation, "cannot be read: %v", err)
		return
	}
	known := slices.Concat(v.o.Keys, v.o.TrustedKeys)
	a, err := openAttestation(data, known)
	if err != nil {
		invalid(CodeAttestationInvalid, PathAttestation, "%s", shorten(err.Error()))
		return
	}
	sig.KeyID = a.key.ID
	sig.Status = SignatureUntrustedKey
	if slices.ContainsFunc(known, a.key.Equal) {
		sig.Status = SignatureValid
	}
	if want, err := attestedHash(v.manifest); err != nil || a.manifestSum != want {
		invalid(CodeAttestationMismatch, PathAttestation+":subject", "the manifest is not the one that was signed")
	}
	patch, err := v.bytesHash(v.listed(evidence.PathPatch))
	if err != nil || patch != a.patchSum {
		invalid(CodeAttestationMismatch, PathAttestation+":subject", "the patch is not the one that was signed")
	}
	if a.predicate.BundleID != v.id {
		invalid(CodeAttestationMismatch, PathAttestation+":predicate.bundleId", "signed for the bundle %q", shorten(a.predicate.BundleID))
	}
	if sig.Status == SignatureInvalid {
		return
	}
	v.out.Statement = &a.predicate
	asked := v.o.Keys
	if len(asked) == 0 && v.o.RequireSignature {
		asked = known
		if len(asked) == 0 {
			v.add(CodeSignatureUntrusted, PathAttestation, PathAttestation, "signed by the key %s, which is not trusted: give the key or trust it", a.key.ID)
			return
		}
	}
	if len(asked) > 0 && !slices.ContainsFunc(asked, a.key.Equal) {
		v.add(CodeSignatureUntrusted, PathAttestation, PathAttestation, "signed by the key %s, which is none of those asked for", a.key.ID)
	}
	switch a.predicate.Containment {
	case "none", "process":
		sig.Detail = "the agent ran without a sandbox and could have read the signing key"
	}
}

func (v *verification) readAttestation(f *listedFile) ([]byte, error) {
	if !f.usable {
		return nil, plainfile.ErrNotRegular
	}
	file, err := plainfile.OpenIn(v.root, f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxAttestation+1))
	if err == nil && len(data) > maxAttestation {
		err = ErrTooLarge
	}
	return data, err
}
