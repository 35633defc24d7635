// Package bundle owns the evidence directory of an attempt: writing it completely or not at all, hashing, signing and
// verifying it. It does not decide what happened in an attempt, and it keeps no state outside the directory and the signing
// key.
//
// A bundle follows the wp-codebox artifact layout: manifest.json lists every file with its SHA-256, the bundle id is
// computed from the exact bytes of the change list and the patch, and attestation.json, where there is a key, is a DSSE
// envelope with an in-toto statement over the manifest. The order in which hashes depend on each other is
//
//	content files ─► content digest, id ─► review, metadata ─► runtime reference manifest
//	              ─► attested manifest digest ─► attestation ─► manifest self hash ─► manifest.json
package bundle

import (
	"errors"

	"github.com/deedrun/deed/contract/evidence"
)

// Paths and kinds of deed's own files in a bundle, in addition to those of the wp-codebox contract.
const (
	PathAttestation = "attestation.json"
	PathVerdict     = "files/verdict.json"
	PathPrompt      = "files/attempt/prompt.txt"
	PathStdout      = "files/attempt/stdout.log"
	PathStderr      = "files/attempt/stderr.log"
	PathResult      = "files/attempt/result.json"
	PathLastMessage = "files/attempt/last-message.txt"

	KindAttestation = "attestation"
	KindVerdict     = "verdict"
	KindPrompt      = "attempt-prompt"
	KindStdout      = "attempt-stdout"
	KindStderr      = "attempt-stderr"
	KindResult      = "attempt-result"
	KindLastMessage = "attempt-last-message"
	KindCheckLog    = "check-log"
	KindCheckReport = "check-report"
)

// Backend is the runtime backend that deed's manifests name.
const Backend = "deed"

// MaxFiles is how many files a bundle can list. The original verifier hashes no manifest entry past the 2000th, so that a
// longer list would not be protected there; what exceeds it belongs into an archive file.
const MaxFiles = 2000

// Limits for the JSON files of a bundle: a verifier reads them whole, and must not be made to use memory without bound.
const (
	maxJSONBytes  = 32 << 20
	maxJSONValues = 2_000_000
	maxPath       = 1024
)

var (
	// ErrIncomplete is wrapped when a bundle lacks a file that every bundle must have.
	ErrIncomplete = errors.New("bundle is incomplete")
	// ErrPath is wrapped when a path is not usable inside a bundle.
	ErrPath = errors.New("not a bundle path")
	// ErrDuplicate is wrapped when a path is added twice.
	ErrDuplicate = errors.New("already in the bundle")
	// ErrTooLarge is wrapped when a bundle would exceed what a verifier accepts.
	ErrTooLarge = errors.New("too large for a bundle")
	// ErrSealed is returned by every use of a Writer after Seal or Abort.
	ErrSealed = errors.New("bundle is sealed")
)

// Required lists the files that a caller must add before Seal: a bundle without one of them cannot be made.
func Required() []string {
	return []string{
		evidence.PathEvents, evidence.PathCommands, evidence.PathObservations, evidence.PathRuntimeLog, evidence.PathCommandsLog,
		evidence.PathChangedFiles, evidence.PathPatch, evidence.PathTestResults, evidence.PathCompletionOutcome,
		evidence.PathAgentResult, evidence.PathTranscript,
	}
}

// derived are the files that Seal writes; callers cannot add them.
var derived = map[string]bool{
	evidence.PathManifest: true, evidence.PathMetadata: true, evidence.PathReview: true, evidence.PathRuntimeReference: true,
	PathAttestation: true,
}
