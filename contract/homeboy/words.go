package homeboy

import "github.com/deedrun/deed/contract/bridge"

// An OutcomeStatus is how a provider says that a task ended.
type OutcomeStatus = bridge.Provider

// The statuses of an outcome.
const (
	Succeeded            = bridge.ProviderSucceeded
	NoOp                 = bridge.ProviderNoOp
	UnableToRemediate    = bridge.ProviderUnableToRemediate
	ProviderError        = bridge.ProviderError
	Timeout              = bridge.ProviderTimeout
	Failed               = bridge.ProviderFailed
	FollowUpIssue        = bridge.ProviderFollowUpIssue
	Cancelled            = bridge.ProviderCancelled
	CandidateRecoverable = bridge.ProviderCandidateRecoverable
)

// OutcomeStatuses lists every status of an outcome.
var OutcomeStatuses = bridge.Providers

// A FailureClass says of what kind a failure is.
type FailureClass string

// The failure classes.
const (
	ClassProvider                     FailureClass = "provider"
	ClassTransient                    FailureClass = "transient"
	ClassTimeout                      FailureClass = "timeout"
	ClassStalled                      FailureClass = "stalled"
	ClassRateLimited                  FailureClass = "rate_limited"
	ClassProviderAccountBlocked       FailureClass = "provider_account_blocked"
	ClassProviderQuotaExhausted       FailureClass = "provider_quota_exhausted"
	ClassProviderBillingBlocked       FailureClass = "provider_billing_blocked"
	ClassProviderCredentialsExhausted FailureClass = "provider_credentials_exhausted"
	ClassPolicyDenied                 FailureClass = "policy_denied"
	ClassCapabilityMissing            FailureClass = "capability_missing"
	ClassInvalidInput                 FailureClass = "invalid_input"
	ClassExecutionFailed              FailureClass = "execution_failed"
	ClassUnknown                      FailureClass = "unknown"
)

// FailureClasses lists every failure class.
var FailureClasses = []FailureClass{
	ClassProvider, ClassTransient, ClassTimeout, ClassStalled, ClassRateLimited, ClassProviderAccountBlocked,
	ClassProviderQuotaExhausted, ClassProviderBillingBlocked, ClassProviderCredentialsExhausted, ClassPolicyDenied,
	ClassCapabilityMissing, ClassInvalidInput, ClassExecutionFailed, ClassUnknown,
}

// classRequestValidation is declared by packages in the wild and is no class of the contract.
const classRequestValidation = "request_validation"

// classAliases are the words that mean a class of the contract.
var classAliases = map[string]FailureClass{
	"provider_quota": ClassRateLimited, "quota_exceeded": ClassRateLimited, "rate_limit": ClassRateLimited,
	"max_turns": ClassTimeout,
	"runtime":   ClassExecutionFailed, "task": ClassExecutionFailed, "incomplete": ClassExecutionFailed,
	classRequestValidation: ClassInvalidInput,
	"provider_setup":       ClassProvider,
}
