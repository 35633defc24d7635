package homeboy

// Every record, and every part of one, is read and written by the same two functions.

// MarshalJSON writes canonical members, then unknown ones.
func (a Adoption) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *Adoption) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a Aggregate) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *Aggregate) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ApplyBack) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ApplyBack) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a Artifact) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *Artifact) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ArtifactDeclaration) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ArtifactDeclaration) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ArtifactDiscovery) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ArtifactDiscovery) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ArtifactPattern) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ArtifactPattern) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ArtifactsProvenance) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ArtifactsProvenance) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a AttachedTool) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *AttachedTool) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (c CapabilityProbe) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *CapabilityProbe) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (c CapabilityRequirements) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *CapabilityRequirements) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (c CommandInvocation) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *CommandInvocation) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (c CommandPolicy) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *CommandPolicy) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (c CommandRule) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *CommandRule) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (c ContractProducer) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *ContractProducer) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (d Dependency) MarshalJSON() ([]byte, error) { return writeObject(d) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (d *Dependency) UnmarshalJSON(data []byte) error { return readObject(data, d) }

// MarshalJSON writes canonical members, then unknown ones.
func (d DependencyPattern) MarshalJSON() ([]byte, error) { return writeObject(d) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (d *DependencyPattern) UnmarshalJSON(data []byte) error { return readObject(data, d) }

// MarshalJSON writes canonical members, then unknown ones.
func (d Diagnostic) MarshalJSON() ([]byte, error) { return writeObject(d) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (d *Diagnostic) UnmarshalJSON(data []byte) error { return readObject(data, d) }

// MarshalJSON writes canonical members, then unknown ones.
func (e EnvPath) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *EnvPath) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (e EvidenceRef) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *EvidenceRef) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (e EvidenceRelationship) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *EvidenceRelationship) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (e ExecutableRequirement) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *ExecutableRequirement) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (e Executor) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *Executor) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ExecutorProvider) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ExecutorProvider) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (f FailurePattern) MarshalJSON() ([]byte, error) { return writeObject(f) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (f *FailurePattern) UnmarshalJSON(data []byte) error { return readObject(data, f) }

// MarshalJSON writes canonical members, then unknown ones.
func (c FanoutConfig) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *FanoutConfig) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (g FanoutGroup) MarshalJSON() ([]byte, error) { return writeObject(g) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (g *FanoutGroup) UnmarshalJSON(data []byte) error { return readObject(data, g) }

// MarshalJSON writes canonical members, then unknown ones.
func (p FanoutPlan) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *FanoutPlan) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p FanoutProgress) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *FanoutProgress) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (r FanoutReconciliation) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *FanoutReconciliation) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r FanoutRecord) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *FanoutRecord) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r FanoutResult) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *FanoutResult) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r FanoutRun) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *FanoutRun) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (t FanoutTask) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *FanoutTask) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (c FindingFanoutConfig) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *FindingFanoutConfig) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (p FindingPolicy) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *FindingPolicy) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (f FollowUp) MarshalJSON() ([]byte, error) { return writeObject(f) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (f *FollowUp) UnmarshalJSON(data []byte) error { return readObject(data, f) }

// MarshalJSON writes canonical members, then unknown ones.
func (i InvocationEnv) MarshalJSON() ([]byte, error) { return writeObject(i) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (i *InvocationEnv) UnmarshalJSON(data []byte) error { return readObject(data, i) }

// MarshalJSON writes canonical members, then unknown ones.
func (i InvocationRedaction) MarshalJSON() ([]byte, error) { return writeObject(i) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (i *InvocationRedaction) UnmarshalJSON(data []byte) error { return readObject(data, i) }

// MarshalJSON writes canonical members, then unknown ones.
func (l Limits) MarshalJSON() ([]byte, error) { return writeObject(l) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (l *Limits) UnmarshalJSON(data []byte) error { return readObject(data, l) }

// MarshalJSON writes canonical members, then unknown ones.
func (m Materialization) MarshalJSON() ([]byte, error) { return writeObject(m) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (m *Materialization) UnmarshalJSON(data []byte) error { return readObject(data, m) }

// MarshalJSON writes canonical members, then unknown ones.
func (a MatrixAggregate) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *MatrixAggregate) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (m MatrixCell) MarshalJSON() ([]byte, error) { return writeObject(m) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (m *MatrixCell) UnmarshalJSON(data []byte) error { return readObject(data, m) }

// MarshalJSON writes canonical members, then unknown ones.
func (p MatrixPlan) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *MatrixPlan) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (m MatrixResult) MarshalJSON() ([]byte, error) { return writeObject(m) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (m *MatrixResult) UnmarshalJSON(data []byte) error { return readObject(data, m) }

// MarshalJSON writes canonical members, then unknown ones.
func (o Outcome) MarshalJSON() ([]byte, error) { return writeObject(o) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (o *Outcome) UnmarshalJSON(data []byte) error { return readObject(data, o) }

// MarshalJSON writes canonical members, then unknown ones.
func (o OutputDeclaration) MarshalJSON() ([]byte, error) { return writeObject(o) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (o *OutputDeclaration) UnmarshalJSON(data []byte) error { return readObject(data, o) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PlannedGroup) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PlannedGroup) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p Policy) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *Policy) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ProducedContent) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ProducedContent) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionBase) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionBase) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionCandidate) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionCandidate) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionCheck) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionCheck) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionGate) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionGate) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionPush) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionPush) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionReport) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionReport) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p PromotionVerifier) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *PromotionVerifier) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ProviderDefault) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ProviderDefault) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ProviderDiagnostics) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ProviderDiagnostics) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ProviderLifecycle) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ProviderLifecycle) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (q Queue) MarshalJSON() ([]byte, error) { return writeObject(q) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (q *Queue) UnmarshalJSON(data []byte) error { return readObject(data, q) }

// MarshalJSON writes canonical members, then unknown ones.
func (r ReadinessCheck) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *ReadinessCheck) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (q Request) MarshalJSON() ([]byte, error) { return writeObject(q) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (q *Request) UnmarshalJSON(data []byte) error { return readObject(data, q) }

// MarshalJSON writes canonical members, then unknown ones.
func (r ResolvedRuntimeTool) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *ResolvedRuntimeTool) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r ResolvedState) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *ResolvedState) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r RoleAliases) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *RoleAliases) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (s RunnerSpec) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *RunnerSpec) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (c RuntimeExecutionContract) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *RuntimeExecutionContract) UnmarshalJSON(data []byte) error { return readObject(data, c) }

// MarshalJSON writes canonical members, then unknown ones.
func (m RuntimeManifest) MarshalJSON() ([]byte, error) { return writeObject(m) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (m *RuntimeManifest) UnmarshalJSON(data []byte) error { return readObject(data, m) }

// MarshalJSON writes canonical members, then unknown ones.
func (s RuntimeSelection) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *RuntimeSelection) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (r RuntimeTool) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *RuntimeTool) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (s SecretCondition) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SecretCondition) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (s SecretEnvRequirement) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SecretEnvRequirement) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (s SecretRequirement) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SecretRequirement) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (s SecretSource) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SecretSource) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (s SourceRef) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SourceRef) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (s SourceRoot) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SourceRoot) UnmarshalJSON(data []byte) error { return readObject(data, s) }

// MarshalJSON writes canonical members, then unknown ones.
func (t TaskEvent) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *TaskEvent) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ToolPolicy) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ToolPolicy) UnmarshalJSON(data []byte) error { return readObject(data, p) }

// MarshalJSON writes canonical members, then unknown ones.
func (t ToolReadiness) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *ToolReadiness) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (t ToolReadyMark) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *ToolReadyMark) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (t ToolRule) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *ToolRule) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (t Totals) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *Totals) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (t TypedArtifact) MarshalJSON() ([]byte, error) { return writeObject(t) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (t *TypedArtifact) UnmarshalJSON(data []byte) error { return readObject(data, t) }

// MarshalJSON writes canonical members, then unknown ones.
func (w Workflow) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *Workflow) UnmarshalJSON(data []byte) error { return readObject(data, w) }

// MarshalJSON writes canonical members, then unknown ones.
func (w WorkflowStep) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *WorkflowStep) UnmarshalJSON(data []byte) error { return readObject(data, w) }

// MarshalJSON writes canonical members, then unknown ones.
func (w Workspace) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *Workspace) UnmarshalJSON(data []byte) error { return readObject(data, w) }

// MarshalJSON writes canonical members, then unknown ones.
func (w WorkspaceAttempt) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *WorkspaceAttempt) UnmarshalJSON(data []byte) error { return readObject(data, w) }

// MarshalJSON writes canonical members, then unknown ones.
func (w WorkspaceMaterialization) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *WorkspaceMaterialization) UnmarshalJSON(data []byte) error { return readObject(data, w) }

// MarshalJSON writes canonical members, then unknown ones.
func (w WorkspaceMount) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *WorkspaceMount) UnmarshalJSON(data []byte) error { return readObject(data, w) }

// MarshalJSON writes canonical members, then unknown ones.
func (w WorkspaceTools) MarshalJSON() ([]byte, error) { return writeObject(w) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (w *WorkspaceTools) UnmarshalJSON(data []byte) error { return readObject(data, w) }
