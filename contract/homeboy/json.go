package homeboy

// Every record, and every part of one, is read and written by the same two functions.

// MarshalJSON writes canonical members, then unknown ones.
func (a ApplyBack) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ApplyBack) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ArtifactDiscovery) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ArtifactDiscovery) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (a ArtifactPattern) MarshalJSON() ([]byte, error) { return writeObject(a) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (a *ArtifactPattern) UnmarshalJSON(data []byte) error { return readObject(data, a) }

// MarshalJSON writes canonical members, then unknown ones.
func (c CommandInvocation) MarshalJSON() ([]byte, error) { return writeObject(c) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (c *CommandInvocation) UnmarshalJSON(data []byte) error { return readObject(data, c) }

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
func (e EnvPath) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *EnvPath) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (e ExecutableRequirement) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *ExecutableRequirement) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (e ExecutorProvider) MarshalJSON() ([]byte, error) { return writeObject(e) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (e *ExecutorProvider) UnmarshalJSON(data []byte) error { return readObject(data, e) }

// MarshalJSON writes canonical members, then unknown ones.
func (f FailurePattern) MarshalJSON() ([]byte, error) { return writeObject(f) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (f *FailurePattern) UnmarshalJSON(data []byte) error { return readObject(data, f) }

// MarshalJSON writes canonical members, then unknown ones.
func (i InvocationEnv) MarshalJSON() ([]byte, error) { return writeObject(i) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (i *InvocationEnv) UnmarshalJSON(data []byte) error { return readObject(data, i) }

// MarshalJSON writes canonical members, then unknown ones.
func (i InvocationRedaction) MarshalJSON() ([]byte, error) { return writeObject(i) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (i *InvocationRedaction) UnmarshalJSON(data []byte) error { return readObject(data, i) }

// MarshalJSON writes canonical members, then unknown ones.
func (m Materialization) MarshalJSON() ([]byte, error) { return writeObject(m) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (m *Materialization) UnmarshalJSON(data []byte) error { return readObject(data, m) }

// MarshalJSON writes canonical members, then unknown ones.
func (p ProducedContent) MarshalJSON() ([]byte, error) { return writeObject(p) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (p *ProducedContent) UnmarshalJSON(data []byte) error { return readObject(data, p) }

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
func (r ReadinessCheck) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *ReadinessCheck) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r RoleAliases) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *RoleAliases) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r RuntimeExecutionContract) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *RuntimeExecutionContract) UnmarshalJSON(data []byte) error { return readObject(data, r) }

// MarshalJSON writes canonical members, then unknown ones.
func (r RuntimeManifest) MarshalJSON() ([]byte, error) { return writeObject(r) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (r *RuntimeManifest) UnmarshalJSON(data []byte) error { return readObject(data, r) }

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
func (s SourceRoot) MarshalJSON() ([]byte, error) { return writeObject(s) }

// UnmarshalJSON reads canonical members and keeps unknown ones.
func (s *SourceRoot) UnmarshalJSON(data []byte) error { return readObject(data, s) }

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
