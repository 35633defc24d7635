// Code generated from the JSON Schemas of deed's contract. DO NOT EDIT.

/** An ACPAdapter runs any agent that speaks the Agent Client Protocol on its standard input and output. */
export type ACPAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "acp";
  command: string;
  working_dir?: string;
  timeout_ms: number;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  env_file?: string;
  env?: Record<string, string>;
  model?: string;
  /** what its model needs, as api.example.com:443 */
  hosts?: string[];
  autonomy?: HarnessAutonomy;
  extra_args?: string[];
};

/** An AdapterConfig is a union by kind: exactly one member is set. In JSON it is the member itself, told apart by its kind. The last five members are deed's own addition to the contract's union. Schema: agent-runtime/adapter.config/v1 */
export type AdapterConfig = ClaudeCodeAdapter | CodexAdapter | HermesAgentAdapter | OllamaGenerateAdapter | ScriptAdapter | ACPAdapter | CommandAdapter | NativeAdapter | OpencodeAdapter | PackagedAdapter;

/** An AgentConstitution pins the two documents that an agent wrote about itself, by content hash. It belongs to the agent; a subagent inherits it. Schema: agent-runtime/agent.constitution/v1 */
export type AgentConstitution = {
  schema?: "agent-runtime/agent.constitution/v1";
  agent_id: string;
  /** SOUL.md: identity, values, communication style */
  soul_path: string;
  /** PURPOSE.md: goals and weighted self-evaluation */
  purpose_path: string;
  /** content hash when the brief was compiled */
  soul_hash: string;
  purpose_hash: string;
  /** semantic version or ISO 8601 revision */
  version: string;
  revised_at: string;
};

/** An AgentIdentity is the durable top-level agent, one per machine: data, never engine code. The internal name is its key; the external name and the on-chain entry may be absent and never override it. Schema: agent-runtime/agent.identity/v1 */
export type AgentIdentity = {
  schema?: "agent-runtime/agent.identity/v1";
  /** the canonical key; equals internal_name */
  agent_id: string;
  /** the given name that operators and peers use */
  internal_name: string;
  external_name?: ExternalName;
  onchain_identity?: OnchainIdentity;
  /** what people are shown */
  display_name: string;
  /** an older alias */
  codename?: string;
  /** the path of PURPOSE.md */
  purpose_ref?: string;
  /** the path of SOUL.md */
  soul_ref?: string;
  host?: string;
  user?: string;
  runtime_instance_id?: string;
  metadata?: Record<string, unknown>;
};

/** An AgentStateChange is one step of an agent from a state to another. Schema: agent-runtime/agent.state/v1 */
export type AgentStateChange = {
  schema?: "agent-runtime/agent.state/v1";
  from: "idle" | "running" | "streaming" | "waiting_for_permission" | "waiting_for_input" | "compacting" | "resumable" | "completed" | "failed_terminal";
  to: "idle" | "running" | "streaming" | "waiting_for_permission" | "waiting_for_input" | "compacting" | "resumable" | "completed" | "failed_terminal";
  cause: string;
  at?: string;
};

export type Analysis = {
  component: string;
  total_failures: number;
  total_tests: number;
  total_passed: number;
  clusters: Cluster[];
  hints?: string[];
};

export type Annotation = {
  file?: string;
  line?: number;
  message: string;
  source?: string;
  severity?: string;
  code?: string;
  fixable?: boolean;
};

export type Artifact = {
  path: string;
  size: number;
  sha256: string;
};

/** An ArtifactRecord tracks one file that a task made. Its path is relative to the managed artifact root. Schema: agent-runtime/artifact.record/v1 */
export type ArtifactRecord = {
  schema?: "agent-runtime/artifact.record/v1";
  artifact_id: string;
  task_id: string;
  role: "plan" | "execute-report" | "verify-report" | "output" | "snapshot" | "adapter-audit";
  relative_path: string;
  content_type?: string;
  created_at: string;
  verified_at?: string;
};

export type AuditBaselineRecord = {
  path: string;
  findings_count: number;
  outliers_count: number;
  alignment_score?: number;
};

export type AuditChanged = {
  ref: string;
  paths: string[];
  introduced_findings: number;
  contextual_findings: number;
};

export type AuditConvention = {
  name: string;
  directory: string;
  language: string;
  status: "clean" | "drift" | "fragmented";
  files: number;
  conforming: number;
  confidence: number;
  expected_methods?: string[];
  expected_interfaces?: string[];
  naming_suffix?: string;
  outliers?: string[];
};

export type AuditDuplicate = {
  kind: string;
  name: string;
  lines: number;
  locations: AuditLocation[];
};

export type AuditFinding = {
  convention: string;
  kind: string;
  severity: "warning" | "info";
  confidence: "structural" | "graph" | "heuristic";
  file: string;
  line?: number;
  subject?: string;
  description: string;
  suggestion: string;
  fingerprint: string;
  identity: string;
  introduced?: boolean;
  known?: boolean;
};

export type AuditLocation = {
  file: string;
  line: number;
  name?: string;
};

/** Schema: deed/audit.report/v1 */
export type AuditReport = {
  schema: "deed/audit.report/v1";
  command: "audit" | "audit.compared" | "audit.conventions" | "audit.baseline";
  component_id: string;
  source_path: string;
  passed: boolean;
  exit_code: number;
  phase: Phase;
  summary: AuditSummary;
  conventions?: AuditConvention[];
  findings: AuditFinding[];
  duplicate_groups?: AuditDuplicate[];
  unparsed?: AuditUnparsed[];
  changed_since?: AuditChanged;
  baseline_comparison?: BaselineComparison;
  baseline_saved?: AuditBaselineRecord;
  warnings?: string[];
};

export type AuditSummary = {
  files_scanned: number;
  files_parsed: number;
  files_skipped: number;
  files_cached: number;
  lines: number;
  conventions_detected: number;
  outliers_found: number;
  alignment_score?: number;
  warning_count: number;
  info_count: number;
  kinds?: Record<string, number>;
};

export type AuditUnparsed = {
  reason: string;
  count: number;
  files: string[];
};

export type Autofix = {
  files_modified: number;
  rerun_recommended: boolean;
  changed_files: string[];
  fix_summary: FixSummary;
  fixes?: FixResult[];
  advice?: FixResult[];
  planned?: boolean;
  reverted?: boolean;
  reason?: string;
  verification?: Phase[];
};

export type BaselineComparison = {
  new_items: BaselineItem[];
  resolved_fingerprints: string[];
  unchanged: number;
  delta: number;
  drift_increased: boolean;
  baseline?: TestResults;
  current?: TestResults;
  passed_delta?: number;
  failed_delta?: number;
  regression?: boolean;
  reasons?: string[];
  saved?: boolean;
};

export type BaselineItem = {
  fingerprint: string;
  description: string;
  context_label?: string;
};

/** A Budget is a bound of an attempt, and how much of it is used. */
export type Budget = {
  /** what is counted: turns, tool_calls, tokens, cost_micro_usd, wall_ms, … */
  name: string;
  limit: number;
  used: number;
  /** the agent was stopped for it */
  exhausted?: boolean;
  at?: string;
};

export type BuildView = {
  build_command: string;
  artifacts?: Artifact[];
  version_targets?: VersionFound[];
};

/** A CLICommand is a command that a skill offers. */
export type CLICommand = {
  name: string;
  command: string;
  description?: string;
};

/** A ClaudeCodeAdapter runs the Claude Code CLI. */
export type ClaudeCodeAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "claude-code";
  command: string;
  working_dir?: string;
  timeout_ms: number;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  env_file?: string;
  env?: Record<string, string>;
  model?: string;
  autonomy?: ClaudeCodeAutonomy;
  extra_args?: string[];
};

/** ClaudeCodeAutonomy declares the posture of Claude Code, with the settings files it depends on. */
export type ClaudeCodeAutonomy = {
  profile: "restricted" | "trusted-vm";
  required_args?: string[];
  required_settings_files?: string[];
};

export type Cluster = {
  id: string;
  pattern: string;
  category: string;
  count: number;
  affected_files: string[];
  example_tests: string[];
  suggested_fix?: string;
};

/** An AbilityRunRequest asks to invoke one named ability of a runtime component in a disposable runtime. The capability token is named, never given: its value is a variable of the caller's environment. Schema: wp-codebox/generic-ability-runtime-run-request/v1 */
export type CodeboxAbilityRunRequest = {
  schema: "wp-codebox/generic-ability-runtime-run-request/v1";
  ability: string;
  /** an object: task text, structured context */
  input?: Record<string, unknown>;
  capability_token_env?: string;
  /** an object; the ability is told it, and it is recorded */
  principal?: Record<string, unknown>;
  /** absent or {}: every tool is denied */
  sandbox_tool_policy?: CodeboxSandboxToolPolicy;
  component_contracts?: CodeboxComponentContract[];
  provider_plugin_paths?: string[];
  runtime_stack_mounts?: CodeboxRequestMount[];
  /** no secrets */
  runtime_env?: Record<string, string>;
  /** absent: the installed one, when the ability needs it */
  wp?: string;
  /** a JSON Schema */
  expected_result_schema?: Record<string, unknown>;
  /** where the evidence bundle goes; absent: there is none */
  artifacts_path?: string;
  /** the caller's own id, recorded */
  sandbox_session_id?: string;
  task_timeout_seconds?: number;
  /** an object, for the record only */
  context?: Record<string, unknown>;
};

/** An AbilityRunResult is what the ability returned, held against the schema that the caller expected. Schema: wp-codebox/generic-ability-runtime-run-result/v1 */
export type CodeboxAbilityRunResult = {
  schema: "wp-codebox/generic-ability-runtime-run-result/v1";
  success: boolean;
  status: "completed" | "failed" | "unavailable";
  ability: string;
  result?: unknown;
  /** against the expected schema; true without one */
  result_valid: boolean;
  exit_code: number | null;
  /** its record in deed's registry */
  run_id?: string;
  /** the directory of the evidence bundle */
  artifacts?: string;
  artifact?: CodeboxEvidenceEnvelope;
  /** below artifacts */
  evidence_refs: CodeboxFileReference[];
  diagnostics: CodeboxWorkspaceError[];
  /** what became of the components */
  component_contracts?: CodeboxComponentContractResult[];
  failure_type?: string;
  error?: CodeboxWorkspaceError;
};

/** An AgentBundle is an agent definition to stage into the sandbox, by a directory or in place. */
export type CodeboxAgentBundle = {
  slug?: string;
  source?: string;
  bundle?: Record<string, unknown>;
  /** absent: upgrade */
  on_conflict?: "error" | "skip" | "upgrade";
  owner_id?: number;
  token_env?: string;
  import_principal?: CodeboxImportPrincipal;
};

/** An AgentResult is files/agent-result.json: what the agent's executions left behind. Schema: wp-codebox/agent-result/v1 */
export type CodeboxAgentResult = {
  schema: "wp-codebox/agent-result/v1";
  status: string;
  actionable: boolean;
  summary: string;
  changedFiles: CodeboxChangeSummary;
  patch: CodeboxPatchSummary;
  transcript: CodeboxTranscriptSummary;
  artifacts: CodeboxResultArtifacts;
  failures: CodeboxExecutionFailure[];
  noOpReason?: string;
  workspaceTools?: CodeboxWorkspaceTools;
};

/** An AgentTaskResult is files/agent-task-result.json: what the task gave, as far as it is data. Schema: wp-codebox/agent-task-result/v1 */
export type CodeboxAgentTaskResult = {
  schema: "wp-codebox/agent-task-result/v1";
  success: boolean;
  status: "completed" | "failed";
  outputs: Record<string, unknown>;
  structured_artifacts: CodeboxStructuredArtifact[];
  terminal_result?: CodeboxTerminalResult;
  /** runtime, error and adapter, where there is something to say */
  diagnostics: Record<string, unknown>;
  /** the agent's own words; claims */
  raw: Record<string, unknown>;
};

/** An AgentTaskRun is the envelope of one run: the one JSON document that a caller gets. Schema: wp-codebox/agent-task-run/v1 */
export type CodeboxAgentTaskRun = {
  success: boolean;
  schema: "wp-codebox/agent-task-run/v1";
  status: "completed" | "no_op" | "failed" | "timeout" | "provider_error" | "unable_to_remediate";
  session: CodeboxSandboxSession;
  /** absent when the request could not be read */
  task_input?: CodeboxTaskInput;
  wp?: string;
  /** the bundle's directory */
  artifacts?: string;
  agent_result: CodeboxAgentResult;
  completion_outcome: CodeboxCompletionOutcome;
  agent_task_result: CodeboxAgentTaskResult;
  agent_task_run_result: CodeboxAgentTaskRunResult;
  terminal_result: CodeboxTerminalResult;
  component_contracts?: Record<string, unknown>[];
  structured_artifacts?: CodeboxStructuredArtifact[];
  outputs?: Record<string, unknown>;
  run_metadata: CodeboxRunMetadata;
  evidence_refs: CodeboxEvidenceRef[];
  diagnostics: CodeboxDiagnostic[];
  failure_evidence?: CodeboxFailureEvidence;
  run: CodeboxRunRecord;
  metadata?: Record<string, unknown>;
};

/** An AgentTaskRunResult is a run as an orchestrator reads it: one terminal status, and every piece of evidence in its group. Schema: wp-codebox/agent-task-run-result/v1 */
export type CodeboxAgentTaskRunResult = {
  schema: "wp-codebox/agent-task-run-result/v1";
  status: "succeeded" | "no_op" | "failed" | "timeout" | "provider_error" | "unable_to_remediate";
  success: boolean;
  summary: string;
  artifacts: CodeboxArtifactRef[];
  refs: CodeboxGroupedRefs;
  diagnostics: CodeboxDiagnostic[];
  metadata: CodeboxResultMetadata;
  terminal_result?: CodeboxTerminalResult;
  no_op: CodeboxNoOp;
  failure_classification?: string;
};

/** An AgentTranscript is files/transcript.json: the agent's executions, in order. Schema: wp-codebox/agent-transcript/v1 */
export type CodeboxAgentTranscript = {
  schema: "wp-codebox/agent-transcript/v1";
  executions: CodeboxExecution[];
};

/** An ApplyAudit is one line of the audit log: every attempt has one, also those that failed. Schema: wp-codebox/apply-audit/v1 */
export type CodeboxApplyAudit = {
  schema: "wp-codebox/apply-audit/v1";
  audit_reference: string;
  at: string;
  operation: "apply" | "undo" | "recover" | "stage" | "reject";
  status: string;
  apply_id?: string;
  artifact_id?: string;
  /** the directory */
  bundle?: string;
  target: CodeboxApplyTarget;
  approved_files: string[];
  /** the list is cut for very large changes */
  file_count: number;
  approver?: string;
  patch_sha256?: string;
  /** what whoever decided on a staged apply said about it */
  note?: string;
  error?: CodeboxApplyError;
};

/** An ApplyError says why a change was not applied. */
export type CodeboxApplyError = {
  code: string;
  message: string;
  /** every one, not only the first */
  reasons?: CodeboxApplyReason[];
};

/** An ApplyPayload is what an applier gets: the patch of the approved files, and what ties it to its bundle. */
export type CodeboxApplyPayload = {
  artifact_id: string;
  artifact: CodeboxArtifactBundleRef;
  approved_files: string[];
  approver?: string;
  apply_target?: CodeboxApplyTarget;
  patch: string;
  patch_encoding: "utf-8" | "base64";
  /** of the patch as it is given here */
  patch_sha256: string;
  artifact_content_digest: string;
  artifact_verification: "valid";
};

/** An ApplyPreflight says whether the whole change of a bundle is approved and could be handed to whoever applies it. Schema: wp-codebox/artifact-bundle-apply-preflight/v1 */
export type CodeboxApplyPreflight = {
  schema: "wp-codebox/artifact-bundle-apply-preflight/v1";
  ready: boolean;
  verification: CodeboxBundleVerification;
  violations: CodeboxViolation[];
  /** when ready */
  payload?: CodeboxApplyPayload;
};

/** An ApplyReason is one ground for refusing a change. */
export type CodeboxApplyReason = {
  code: string;
  path?: string;
  message: string;
};

/** An ApplyResult is what came of applying, or undoing, a change. Schema: wp-codebox/apply-result/v1 */
export type CodeboxApplyResult = {
  schema: "wp-codebox/apply-result/v1";
  /** who applied */
  adapter: string;
  status: "applied" | "dry_run" | "no_op" | "refused" | "failed" | "undone" | "rolled_back" | "staged" | "rejected";
  target: CodeboxApplyTarget;
  applied_files: string[];
  /** of the line in the audit log; empty for a dry run */
  audit_reference: string;
  apply_id?: string;
  artifact_id?: string;
  approver?: string;
  patch_sha256?: string;
  error?: CodeboxApplyError;
  /** applies that a crash cut short and that were taken back, or finished, first */
  recovered?: string[];
  /** RecoveredAs says for each of them which of the two: rolled_back, applied (it was whole), undone (an undo was cut short). */
  recovered_as?: Record<string, string>;
  commit?: string;
  commit_url?: string;
  pr_url?: string;
  branch?: string;
};

/** An ApplyTarget is where a change goes: a directory, and for a bundle of several workspaces which of them. */
export type CodeboxApplyTarget = {
  directory: string;
  workspace?: string;
};

/** An ArtifactApply is the answer to a staged apply: what was approved, and what came of it. Schema: wp-codebox/artifact-apply/v1 */
export type CodeboxArtifactApply = {
  schema: "wp-codebox/artifact-apply/v1";
  success: boolean;
  artifact_id: string;
  approved_files: string[];
  approver: string;
  apply_target: CodeboxApplyTarget;
  patch_sha256?: string;
  artifact_content_digest?: string;
  result: CodeboxApplyResult;
};

/** An ArtifactBundleRef names a bundle by id and content digest. */
export type CodeboxArtifactBundleRef = {
  kind: string;
  id: string;
  digest: CodeboxDigest;
};

/** An ArtifactProvenance says where a structured artifact comes from. */
export type CodeboxArtifactProvenance = {
  direction?: "input" | "output";
  source?: string;
};

/** An ArtifactRef names a piece of evidence. A path is absolute, or relative to the bundle that the first reference of kind codebox-artifact-bundle names. */
export type CodeboxArtifactRef = {
  id?: string;
  kind: string;
  path?: string;
  url?: string;
  sha256?: string;
  size_bytes?: number;
  metadata?: Record<string, unknown>;
};

/** A Blocker is one thing that stands in the way. */
export type CodeboxBlocker = {
  kind: string;
  message: string;
  retryable: boolean;
};

/** A BundleVerification is the outcome of checking a bundle. Schema: wp-codebox/artifact-bundle-verification/v1 */
export type CodeboxBundleVerification = {
  schema: "wp-codebox/artifact-bundle-verification/v1";
  bundleDirectory: string;
  valid: boolean;
  violations: CodeboxViolation[];
  manifest?: CodeboxManifest;
};

/** A CLIDiagnostic is one reason of a CLIFailure. */
export type CodeboxCLIDiagnostic = {
  code: string;
  message: string;
  path?: string;
  remedy?: string;
};

/** A CLIFailure is what a command answers with when it did nothing. Schema: wp-codebox/cli-failure/v1 */
export type CodeboxCLIFailure = {
  schema: "wp-codebox/cli-failure/v1";
  /** always false */
  success: boolean;
  status: "error";
  command?: string;
  error: CodeboxSerializedError;
  diagnostics: CodeboxCLIDiagnostic[];
};

/** A CaptureDiff is the difference as a git patch. */
export type CodeboxCaptureDiff = {
  name: string;
  diff: string;
  /** utf-8 or base64 */
  encoding: string;
  backend: string;
};

/** A CaptureRequest asks for the state of a workspace: what is checked out, what differs, and the difference. Schema: wp-codebox/runner-workspace-capture-request/v1 */
export type CodeboxCaptureRequest = {
  schema: "wp-codebox/runner-workspace-capture-request/v1";
  workspace?: string;
  workspace_handle?: string;
  handle?: string;
  workspace_path?: string;
  workspace_backend?: string;
  runner_workspace?: CodeboxRunnerWorkspaceRef;
  repo?: string;
  target_repo?: string;
  /** a commit; absent: what is checked out */
  from?: string;
  /** a commit; absent: the files as they are */
  to?: string;
  /** only below this one */
  path?: string;
  exclude_paths?: string[];
  /** absent: true */
  include_diff?: boolean;
};

/** A CaptureResult is the state of a workspace. Status is a CaptureStatus, or the word failed or unavailable. Schema: wp-codebox/runner-workspace-capture-result/v1 */
export type CodeboxCaptureResult = {
  schema: "wp-codebox/runner-workspace-capture-result/v1";
  success: boolean;
  backend: string;
  /** a file differs from what is checked out, or the diff has something: with to they are two questions */
  changed: boolean;
  workspace: CodeboxRunnerWorkspace;
  status: unknown;
  diff?: CodeboxCaptureDiff;
  failure_type?: string;
  error?: CodeboxWorkspaceError;
  /** deed: what was not looked into */
  diagnostics?: CodeboxDiagnostic[];
};

/** A CaseArtifact is one file of a case. */
export type CodeboxCaseArtifact = {
  path: string;
  kind: string;
  contentType?: string;
  sha256?: CodeboxDigest;
  publicUrl?: string;
  redaction?: CodeboxFileRedaction;
  provenance?: CodeboxFileProvenance;
  metadata?: Record<string, unknown>;
};

/** A CaseVerification is what somebody found when checking a case. */
export type CodeboxCaseVerification = {
  status: string;
  verifiedAt?: string;
  verifier?: string;
  diagnostics?: unknown[];
  metadata?: Record<string, unknown>;
};

/** A ChangeSummary counts the changed files and points at their list. */
export type CodeboxChangeSummary = {
  count: number;
  paths: string[];
  statuses: Record<string, number>;
  artifact: string;
};

/** A ChangedFile is one changed path. Hashes are over the file's exact bytes (a symlink's are over its target text); modes are git's six octal digits. */
export type CodeboxChangedFile = {
  /** mount target, slash, relative path */
  path: string;
  relativePath: string;
  status: string;
  beforeSha256?: string;
  beforeMode?: string;
  afterSha256?: string;
  afterMode?: string;
  mountIndex: number;
  mountTarget: string;
  /** empty when the change is not in the patch */
  patchPath?: string;
  /** deed: "ignored" when the change is kept out of the patch */
  class?: string;
};

/** ChangedFiles is files/changed-files.json: every path that differs between the workspace before and after. Schema: wp-codebox/changed-files/v1 */
export type CodeboxChangedFiles = {
  schema: "wp-codebox/changed-files/v1";
  files: CodeboxChangedFile[];
};

/** A CommandRequest asks for one bounded command in a workspace. Schema: wp-codebox/runner-workspace-command-request/v1 */
export type CodeboxCommandRequest = {
  schema: "wp-codebox/runner-workspace-command-request/v1";
  workspace?: string;
  workspace_handle?: string;
  handle?: string;
  workspace_path?: string;
  workspace_backend?: string;
  runner_workspace?: CodeboxRunnerWorkspaceRef;
  repo?: string;
  target_repo?: string;
  /** for a shell */
  command: string;
  description?: string;
  /** 1 to 600, cut to these; absent: 120 */
  timeout_seconds?: number;
  env?: Record<string, string>;
  /** deed: variables of the caller, by name */
  secret_env?: string[];
  isolation?: "process" | "namespace";
  context?: Record<string, unknown>;
};

/** A CommandResult is what came of a command. Its output is redacted and cut. Schema: wp-codebox/runner-workspace-command-result/v1 */
export type CodeboxCommandResult = {
  schema: "wp-codebox/runner-workspace-command-result/v1";
  success: boolean;
  status: "completed" | "failed" | "unavailable";
  command: string;
  description?: string;
  /** null when nothing ran to an end */
  exit_code: number | null;
  stdout: string;
  stderr: string;
  truncated?: boolean;
  elapsed_ms: number;
  backend: string;
  isolation?: string;
  workspace: CodeboxRunnerWorkspace;
  failure_type?: string;
  error?: CodeboxWorkspaceError;
};

/** A CompletionOutcome is files/completion-outcome.json: how the run ended and what follows from that. Schema: wp-codebox/sandbox-completion-outcome/v1 */
export type CodeboxCompletionOutcome = {
  schema: "wp-codebox/sandbox-completion-outcome/v1";
  status: string;
  summary: string;
  changedFiles: CodeboxChangeSummary;
  patch: CodeboxPatchSummary;
  artifacts: CodeboxResultArtifacts;
  verification: CodeboxOutcomeVerification;
  blockers: CodeboxBlocker[];
  riskNotes: string[];
  confidence: string;
  nextAction: string;
  provenance: CodeboxOutcomeProvenance;
};

/** A ComponentContract is a part of the runtime: a plugin that is there before the user's. */
export type CodeboxComponentContract = {
  slug?: string;
  /** another name of slug */
  component?: string;
  /** another name of slug */
  name?: string;
  path?: string;
  /** another name of path */
  source?: string;
  /** of a repository with several components */
  source_root?: string;
  sourceRoot?: string;
  /** below source_root */
  source_subpath?: string;
  sourceSubpath?: string;
  /** where the caller had it from; only recorded */
  original_source?: string;
  pluginFile?: string;
  plugin_file?: string;
  /** absent: mu-plugin */
  loadAs?: "mu-plugin" | "plugin";
  activate?: boolean;
  metadata?: Record<string, unknown>;
};

/** A ComponentContractResult says what became of one requested runtime component. Schema: wp-codebox/component-contract-result/v1 */
export type CodeboxComponentContractResult = {
  schema: "wp-codebox/component-contract-result/v1";
  index: number;
  slug: string;
  requestedPath: string;
  /** relative to where the run prepares its copies */
  preparedPath?: string;
  /** begins with the slug */
  pluginFile?: string;
  loadAs: "mu-plugin" | "plugin";
  activate: boolean;
  target?: string;
  status: "prepared" | "mounted" | "activated" | "failed";
  activationStatus: "not_requested" | "not_applicable" | "pending" | "activated" | "failed";
  failures: CodeboxComponentFailure[];
};

/** A ComponentFailure is one reason why a component is not usable. */
export type CodeboxComponentFailure = {
  phase: "prepare" | "load" | "activate";
  code?: string;
  message: string;
  remedy?: string;
};

/** A ContentDigest is the digest from which the bundle id is made, with the paths whose bytes went into it, in order. */
export type CodeboxContentDigest = {
  algorithm: string;
  inputs: string[];
  value: string;
};

/** A Diagnostic is one thing that a reader should know: a class that programs read and a sentence that people read. */
export type CodeboxDiagnostic = {
  class: string;
  message: string;
  /** in the request */
  path?: string;
  remedy?: string;
  data?: Record<string, unknown>;
};

/** A Digest is a named hash value: lower-case hexadecimal, 64 digits. */
export type CodeboxDigest = {
  algorithm: string;
  value: string;
};

/** An EnvelopeStatement is what the bundle's signer said of the run. */
export type CodeboxEnvelopeStatement = {
  task_id: string;
  attempt_id: string;
  verdict: string;
  status: string;
  containment: string;
};

/** An EnvelopeVerification is what the sender found; a receiver checks for itself. */
export type CodeboxEnvelopeVerification = {
  valid: boolean;
  content_addressed: boolean;
  signature: string;
  key_id?: string;
  violations: CodeboxViolation[];
};

/** An Environment describes what a runtime is: for deed, the containment kind and the platform. */
export type CodeboxEnvironment = {
  kind: string;
  name?: string;
  version?: string;
  phpVersion?: string;
  blueprint?: unknown;
  os?: string;
  arch?: string;
};

/** An EvidenceEnvelope hands a verified bundle across a trust boundary: its identity, what was found when checking it, and every file by path and hash. The bytes travel beside it. Schema: wp-codebox/evidence-artifact-envelope/v1 */
export type CodeboxEvidenceEnvelope = {
  schema: "wp-codebox/evidence-artifact-envelope/v1";
  version: number;
  /** of the bundle */
  created_at: string;
  artifact: CodeboxArtifactBundleRef;
  runtime: CodeboxRuntime;
  verification: CodeboxEnvelopeVerification;
  /** signed; when the signature is good */
  statement?: CodeboxEnvelopeStatement;
  refs: CodeboxReferenceFile[];
};

/** An EvidenceRef points at evidence: an absolute path or a URL. */
export type CodeboxEvidenceRef = {
  kind: string;
  uri?: string;
  label?: string;
  metadata?: Record<string, unknown>;
};

/** An EvidenceReference names a file of the bundle with its hash. */
export type CodeboxEvidenceReference = {
  path: string;
  sha256: string;
};

/** An Execution is one run of the agent's command, with the bounded text that it printed. */
export type CodeboxExecution = {
  executionIndex: number;
  command: string;
  exitCode: number;
  recipePhase?: string;
  recipeStepIndex?: number;
  recipeCommand?: string;
  stdout: string;
  stderr: string;
  parsed?: unknown;
};

/** An ExecutionFailure is one execution that failed. */
export type CodeboxExecutionFailure = {
  executionIndex: number;
  command: string;
  exitCode: number;
  message: string;
};

/** A FailureEvidence is what a caller keeps of a run that did not succeed. It holds no stack and no secret. Schema: wp-codebox/agent-task-run-failure-evidence/v1 */
export type CodeboxFailureEvidence = {
  schema: "wp-codebox/agent-task-run-failure-evidence/v1";
  phase: string;
  command: string;
  /** of the failed command; never 0 */
  exit_code: number;
  message: string;
  task?: string;
  runtime?: CodeboxRuntimeState;
  sandbox: CodeboxSandboxState;
  stdout?: CodeboxSnippet;
  stderr?: CodeboxSnippet;
  diagnostics?: CodeboxDiagnostic[];
  phase_evidence?: Record<string, unknown>;
  error: CodeboxSerializedError;
  wp?: string;
};

/** A FileProvenance says where a file's content came from. */
export type CodeboxFileProvenance = {
  source: string;
  operation?: string;
  id?: string;
  metadata?: Record<string, unknown>;
};

/** A FileRedaction says whether a file's content was or must be redacted. */
export type CodeboxFileRedaction = {
  policy: string;
  reason?: string;
  sensitive?: boolean;
};

/** A FileReference names a file of the bundle. */
export type CodeboxFileReference = {
  path: string;
  kind: string;
};

/** GroupedRefs holds the references of each kind. */
export type CodeboxGroupedRefs = {
  artifact_bundles: CodeboxArtifactRef[];
  changed_files: CodeboxArtifactRef[];
  patches: CodeboxArtifactRef[];
  transcripts: CodeboxArtifactRef[];
  logs: CodeboxArtifactRef[];
  runtimes: CodeboxArtifactRef[];
  evidence_bundles: CodeboxArtifactRef[];
};

/** An ImportPrincipal says on whose behalf a bundle is imported. Its ids are positive numbers, or such numbers as text. */
export type CodeboxImportPrincipal = {
  agent_id?: unknown;
  owner_id?: unknown;
  token_id?: unknown;
  capabilities?: string[];
  scope?: Record<string, unknown>;
};

/** A Manifest is the content-addressed index of a bundle. It lists every file, itself included. Schema: wp-codebox/artifact-manifest/v1 */
export type CodeboxManifest = {
  id: string;
  contentDigest: CodeboxContentDigest;
  createdAt: string;
  runtime: CodeboxRuntime;
  files: CodeboxManifestFile[];
  cases?: CodeboxManifestCase[];
};

/** A ManifestCase groups files of the bundle under one case of a test matrix. */
export type CodeboxManifestCase = {
  id: string;
  /** a Digest, or text */
  hash?: unknown;
  digest?: CodeboxDigest;
  artifacts: CodeboxCaseArtifact[];
  redaction?: CodeboxFileRedaction;
  verification?: CodeboxCaseVerification;
};

/** A ManifestFile is one file of the bundle. SHA256 is absent only in bundles that others made wrongly. */
export type CodeboxManifestFile = {
  path: string;
  kind: string;
  contentType: string;
  sha256?: CodeboxDigest;
  redaction?: CodeboxFileRedaction;
  provenance?: CodeboxFileProvenance;
  viewer?: CodeboxViewer;
};

/** A Metadata is metadata.json: what ran, for which task, under which policy, and where in the bundle things are. Schema: wp-codebox/artifact-metadata/v1 */
export type CodeboxMetadata = {
  id: string;
  contentDigest: CodeboxContentDigest;
  createdAt: string;
  runtime: CodeboxRuntime;
  provenance: CodeboxProvenance;
  mounts: CodeboxMount[];
  policy: CodeboxPolicy;
  context?: Record<string, unknown>;
  spec?: unknown;
  /** name to bundle path; every path is listed in the manifest */
  artifacts: Record<string, string>;
  redaction: CodeboxRedactionSummary;
  evidence?: Record<string, unknown>;
};

/** A Mount is a directory that the runtime saw, by its name inside the runtime. */
export type CodeboxMount = {
  index: number;
  target: string;
  /** readonly or readwrite */
  mode: string;
};

/** A NoOp says whether a run changed nothing. */
export type CodeboxNoOp = {
  detected: boolean;
  reason?: string;
  changed_files_count?: number;
  patch_bytes?: number;
};

/** ObservedArguments names the arguments of a call. Their values are never there. */
export type CodeboxObservedArguments = {
  redacted: boolean;
  count: number;
  keys: string[];
};

/** An ObservedCall is one call by its names. */
export type CodeboxObservedCall = {
  id: string;
  name: string;
  status?: string;
  arguments?: CodeboxObservedArguments;
};

/** Origins says where the entries of a list stood in a request as its caller wrote it, by the name that the list has in a request: after merging, one list holds entries of several. Faults name these places. */
export type CodeboxOrigins = Record<string, string[]>;

/** OutcomeProvenance ties an outcome to its bundle. */
export type CodeboxOutcomeProvenance = {
  artifactBundleId: string;
  artifactDirectory: string;
  runtime?: CodeboxRuntime;
  task?: unknown;
};

/** An OutcomeVerification lists the commands whose exits the outcome rests on. */
export type CodeboxOutcomeVerification = {
  transcript: string;
  commands: CodeboxVerificationCommand[];
  artifactBundle?: string;
};

/** A PatchSummary is the size and hash of the patch. */
export type CodeboxPatchSummary = {
  bytes: number;
  sha256: string;
  artifact: string;
};

/** A PendingApplyFile is one file that a staged apply would change. */
export type CodeboxPendingApplyFile = {
  path: string;
  status: string;
};

/** A PendingApplyInput is what the apply will be run with. The manifest's hash pins the bundle that was shown. */
export type CodeboxPendingApplyInput = {
  artifact_id: string;
  /** the bundle */
  artifacts_path: string;
  manifest_sha256: string;
  approved_files: string[];
  /** who staged it */
  approver?: string;
  apply_target: CodeboxApplyTarget;
  force?: boolean;
};

/** A PendingApplyPreview shows a person what approving a staged apply would do. Approving runs the whole apply again. Schema: wp-codebox/pending-apply-preview/v1 */
export type CodeboxPendingApplyPreview = {
  schema: "wp-codebox/pending-apply-preview/v1";
  action_id: string;
  status: "pending" | "approved" | "rejected";
  created_at: string;
  artifact_id: string;
  summary: string;
  files: CodeboxPendingApplyFile[];
  apply_input: CodeboxPendingApplyInput;
  resolved_by?: string;
  resolved_at?: string;
  /** what whoever decided said about it */
  note?: string;
};

/** PendingTools says that the agent ended with calls that nobody answered. */
export type CodeboxPendingTools = {
  detected: boolean;
  count?: number;
  names?: string[];
};

/** A PluginSource is a plugin that is copied into the runtime. */
export type CodeboxPluginSource = {
  /** absent: the Composer name, else the directory's */
  slug?: string;
  source?: string;
  /** another name of source */
  path?: string;
  pluginFile?: string;
  plugin_file?: string;
  /** absent: plugin */
  loadAs?: "mu-plugin" | "plugin";
  /** absent: true */
  activate?: boolean;
  metadata?: Record<string, unknown>;
};

/** A Policy is what the run was allowed to do, with how far each part of it was made to hold. */
export type CodeboxPolicy = {
  network: string;
  filesystem: string;
  commands: string[];
  secrets: string;
  approvals: string;
  enforcement: CodeboxPolicyEnforcement;
};

/** A PolicyBlock is one mark with a sentence on how the part was held, or why it was not. */
export type CodeboxPolicyBlock = {
  /** enforced, monitored, declared or not_configured */
  status: string;
  detail?: string;
};

/** PolicyEnforcement marks each part of a policy. */
export type CodeboxPolicyEnforcement = {
  network: CodeboxPolicyBlock;
  filesystem: CodeboxPolicyBlock;
  commands: CodeboxPolicyBlock;
  secrets: CodeboxPolicyBlock;
  approvals: CodeboxPolicyBlock;
  isolation: CodeboxPolicyBlock;
  limits: CodeboxPolicyBlock;
};

/** A Provenance says what a bundle's content comes from. Values are those of the caller; none is a host path. */
export type CodeboxProvenance = {
  task?: Record<string, unknown>;
  workspace?: Record<string, unknown>;
  packages?: unknown[];
  runtime?: CodeboxRuntime;
  agent?: Record<string, unknown>;
  mounts?: CodeboxMount[];
};

/** A ProviderRuntimeContract gives the stable names of the generic runtime operations, and the schemas of their results. Schema: wp-codebox/provider-runtime-invocation-contract/v1 */
export type CodeboxProviderRuntimeContract = {
  schema: "wp-codebox/provider-runtime-invocation-contract/v1";
  version: number;
  tasks: CodeboxProviderRuntimeNames;
  abilities: CodeboxProviderRuntimeNames;
  result_schemas: CodeboxProviderRuntimeSchemas;
};

/** ProviderRuntimeNames names each operation. */
export type CodeboxProviderRuntimeNames = {
  workspaceCapture: string;
  workspaceCommand: string;
  workspacePublish: string;
  toolCallTranscriptRecord: string;
  artifactHandoff: string;
};

/** ProviderRuntimeSchemas names the schema of each operation's result. */
export type CodeboxProviderRuntimeSchemas = {
  workspace_capture: string;
  workspace_command: string;
  workspace_publication: string;
  tool_call_transcript: string;
  evidence_artifact_envelope: string;
};

/** A PublicationBranch is where the change was written. */
export type CodeboxPublicationBranch = {
  base?: string;
  base_sha: string;
  head: string;
  name: string;
  /** without credentials */
  remote?: string;
  /** deed: it had this very content already, and no commit was made */
  reused?: boolean;
};

/** A PublicationCommit is what was written. */
export type CodeboxPublicationCommit = {
  sha: string;
  parent_sha: string;
  message: string;
};

/** A PublicationPullRequest is what the pull-request hook answered. It is also the hook's own answer. */
export type CodeboxPublicationPullRequest = {
  number: number;
  url: string;
  reused: boolean;
  opened: boolean;
};

/** A PublicationRequest asks for a branch with the change of a workspace, and a pull request for it. Schema: wp-codebox/runner-workspace-publication-request/v1 */
export type CodeboxPublicationRequest = {
  schema: "wp-codebox/runner-workspace-publication-request/v1";
  workspace?: string;
  workspace_handle?: string;
  handle?: string;
  workspace_path?: string;
  workspace_backend?: string;
  runner_workspace?: CodeboxRunnerWorkspaceRef;
  repo?: string;
  target_repo?: string;
  base?: string;
  base_branch?: string;
  head?: string;
  head_branch?: string;
  /** deed: an absolute path or a URL to push to; absent: the workspace's own repository */
  remote?: string;
  commit_message?: string;
  title?: string;
  pr_title?: string;
  body?: string;
  pr_body?: string;
  labels?: string[];
  draft?: boolean;
  /** absent: true */
  maintainer_can_modify?: boolean;
  /** only these; absent: all that differs */
  paths?: string[];
  changed_paths?: string[];
  /** absent: context */
  evidence_context?: Record<string, unknown>;
  artifact_context?: Record<string, unknown>;
  context?: Record<string, unknown>;
};

/** A PublicationResult says which branch, commit and pull request hold the change. Schema: wp-codebox/runner-workspace-publication-result/v1 */
export type CodeboxPublicationResult = {
  schema: "wp-codebox/runner-workspace-publication-result/v1";
  success: boolean;
  status: "published" | "failed" | "write_without_pr";
  failure_type?: string;
  error?: CodeboxWorkspaceError;
  backend: string;
  workspace: CodeboxRunnerWorkspace;
  branch?: CodeboxPublicationBranch;
  commit?: CodeboxPublicationCommit;
  pull_request?: CodeboxPublicationPullRequest;
  /** the pull request was there before, as pull_request says; branch has a reused of its own */
  reused: boolean;
  /** it was opened now; without a pull request both are false */
  opened: boolean;
  evidence?: Record<string, unknown>;
  artifacts?: Record<string, unknown>;
  /** deed: what differs and is not published */
  diagnostics?: CodeboxDiagnostic[];
};

/** A RedactedArtifact is one file in which something was replaced. */
export type CodeboxRedactedArtifact = {
  path: string;
  count: number;
  kinds: string[];
};

/** A RedactionSummary counts what was replaced, by kind (for deed: the secret's name) and by file. It never holds a value. Schema: wp-codebox/artifact-redaction/v1 */
export type CodeboxRedactionSummary = {
  schema: "wp-codebox/artifact-redaction/v1";
  status: string;
  total: number;
  byKind: Record<string, number>;
  artifacts: CodeboxRedactedArtifact[];
};

/** A ReferenceFile names a file of the bundle with its hash. */
export type CodeboxReferenceFile = {
  path: string;
  kind: string;
  contentType: string;
  sha256: CodeboxDigest;
  viewer?: CodeboxViewer;
};

/** A ReferenceRef names one record of a runtime, and its file where it has one. */
export type CodeboxReferenceRef = {
  kind: string;
  id: string;
  digest?: CodeboxDigest;
  artifactId?: string;
  path?: string;
};

/** A ReferenceSnapshot names a snapshot of a runtime and the files that hold it. */
export type CodeboxReferenceSnapshot = {
  id: string;
  semantics: string;
  digest: CodeboxDigest;
  replay: CodeboxViewerReplay;
  artifactRefs: CodeboxReferenceRef[];
};

/** A Request is either form of a request; `schema` tells them apart. Schema: wp-codebox/agent-task-run-request/v1 */
export type CodeboxRequest = CodeboxTaskRequest | CodeboxWrappedRequest;

/** A RequestMount is a directory or a file of the caller's that the agent sees. */
export type CodeboxRequestMount = {
  source: string;
  target: string;
  /** absent: what the source is */
  type?: "directory" | "file";
  /** absent: readwrite for mounts, readonly for runtime mounts */
  mode?: "readonly" | "readwrite";
  /** false: changes are not evidence */
  captureArtifacts?: boolean;
  phase?: "pre-install" | "post-install";
  metadata?: Record<string, unknown>;
};

/** A RequestWorkspace is a directory that the agent works on. It is always a copy: the source is never written. */
export type CodeboxRequestWorkspace = {
  /** absent: see EffectiveTarget */
  target?: string;
  /** absent: readwrite */
  mode?: "readonly" | "readwrite";
  /** absent: repo-backed */
  sourceMode?: "repo-backed" | "site-backed";
  seed: CodeboxWorkspaceSeed;
};

/** ResultArtifacts points at the files a reader starts from. Directory is "." in a bundle that can be moved. */
export type CodeboxResultArtifacts = {
  directory: string;
  review: string;
  manifest: string;
};

/** A ResultMetadata is what an orchestrator stores beside the status. What is unknown is absent. */
export type CodeboxResultMetadata = {
  run_id?: string;
  run_status?: string;
  runtime_id?: string;
  runtime_status?: string;
  changed_files_count?: number;
  patch_bytes?: number;
  patch_sha256?: string;
  no_op_reason?: string;
  completion_status?: string;
  completion_next_action?: string;
  confidence?: string;
  provider_error?: Record<string, unknown>;
  timeout?: boolean;
  tool_observability?: CodeboxToolObservability;
};

/** A Review is files/review.json: the summary for a reviewer, derived from the canonical files. Schema: wp-codebox/artifact-review/v1 */
export type CodeboxReview = {
  schema: "wp-codebox/artifact-review/v1";
  artifactId: string;
  createdAt: string;
  provenance?: CodeboxProvenance;
  summary: string;
  stats: CodeboxReviewStats;
  changedFiles: CodeboxReviewFile[];
  preview?: unknown;
  progress: CodeboxReviewProgress[];
  actions: CodeboxReviewAction[];
  evidence: CodeboxReviewEvidence;
  browser?: unknown;
  redaction?: CodeboxRedactionSummary;
  riskFlags: string[];
};

/** A ReviewAction is something that a reviewer may do with the bundle. */
export type CodeboxReviewAction = {
  /** approve, approve-files, discard or iterate */
  kind: string;
  label: string;
};

/** ReviewEvidence ties a review to the files it was derived from. */
export type CodeboxReviewEvidence = {
  workspacePatch?: string;
  patch: string;
  patchSha256: string;
  artifactContentDigest: string;
  changedFiles: string;
  diagnostics?: string;
  testResults: string;
  runtimeEpisodeTrace?: string;
  runtimeReferenceManifest?: string;
  runtimeReplayReferenceIndex?: string;
  runtimeEvidence?: Record<string, CodeboxEvidenceReference>;
};

/** A ReviewFile is one changed file as a reviewer sees it. */
export type CodeboxReviewFile = {
  path: string;
  status: string;
  label: string;
  mountTarget: string;
  relativePath: string;
};

/** A ReviewProgress is one step that the run took. */
export type CodeboxReviewProgress = {
  label: string;
  status: string;
  at?: string;
};

/** ReviewStats counts changed files by status. */
export type CodeboxReviewStats = {
  added: number;
  modified: number;
  deleted: number;
  total: number;
};

/** A RunArtifactRef points at something that a run left behind. */
export type CodeboxRunArtifactRef = {
  kind: string;
  path?: string;
  directory?: string;
  id?: string;
  digest?: CodeboxDigest;
};

/** A RunArtifactSize is the size of what the run left behind. */
export type CodeboxRunArtifactSize = {
  available: boolean;
  directory?: string;
  bytes?: number;
  bundleId?: string;
  reason?: string;
};

/** A RunCancellation is the first request to cancel a run. */
export type CodeboxRunCancellation = {
  requestedAt: string;
  reason?: string;
};

/** A RunCancellationRequest answers a request to cancel. A run that had ended already stays as it is: that is no error. Schema: wp-codebox/run-cancellation-request/v1 */
export type CodeboxRunCancellationRequest = {
  schema: "wp-codebox/run-cancellation-request/v1";
  runId: string;
  status: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  cancellationRequested: boolean;
  alreadyRequested: boolean;
  terminal: boolean;
  record: CodeboxRunRegistryEntry;
};

/** A RunCleanup is how far the clean-up of a run came. */
export type CodeboxRunCleanup = {
  status: "not_started" | "running" | "succeeded" | "failed";
  attempts: number;
  startedAt?: string;
  updatedAt?: string;
  completedAt?: string;
  error?: CodeboxRunError;
};

/** A RunError is why a run did not succeed. */
export type CodeboxRunError = {
  name: string;
  message: string;
  code?: string;
};

/** A RunFailureClass is the kind of a failure. */
export type CodeboxRunFailureClass = {
  available: boolean;
  value: "none" | "unknown" | "timeout" | "cancelled" | "cleanup" | "startup" | "plugin_mount" | "plugin_activation" | "fixture_database" | "workload" | "probe" | "artifact_collection" | "execution";
  code?: string;
  phase?: string;
  message?: string;
};

/** A RunHostProcess is deed's own process at the end of the run. */
export type CodeboxRunHostProcess = {
  pid: number;
  rssBytes?: number;
  heapUsedBytes?: number;
  maxRssBytes?: number;
  source: string;
};

/** A RunLifecycle is what follows from a run's status, its cancellation and its clean-up. Schema: wp-codebox/run-lifecycle/v1 */
export type CodeboxRunLifecycle = {
  schema: "wp-codebox/run-lifecycle/v1";
  status: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  phase: "pending" | "active" | "finalizing" | "terminal";
  terminal: boolean;
  cancellable: boolean;
  cancelRequested: boolean;
  cancellation?: CodeboxRunCancellation;
  successful: boolean;
  failed: boolean;
  cancelled: boolean;
  outcome?: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  cleanup: CodeboxRunCleanup;
};

/** RunMetadata names the run. What is unknown is empty. */
export type CodeboxRunMetadata = {
  run_id: string;
  run_status: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  runtime_id: string;
  runtime_status: string;
  sandbox_session_id: string;
  orchestrator?: Record<string, unknown>;
  parent_request_schema?: string;
};

/** A RunMetric is a number with its unit, or the reason why there is none. */
export type CodeboxRunMetric = {
  available: boolean;
  unit?: string;
  value?: number;
  reason?: string;
};

/** A RunPhaseEvidence is one phase of a run, measured. Schema: wp-codebox/recipe-phase-evidence/v1 */
export type CodeboxRunPhaseEvidence = {
  schema: "wp-codebox/recipe-phase-evidence/v1";
  name: string;
  status: "completed" | "failed";
  startedAt: string;
  endedAt: string;
  durationMs: number;
  data?: Record<string, unknown>;
  error?: CodeboxRunError;
};

/** A RunRecord is the run itself: its times and what it left. */
export type CodeboxRunRecord = {
  runId?: string;
  status?: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  startedAt?: string;
  finishedAt?: string;
  durationMs?: number;
  isolation?: string;
  artifactRefs?: CodeboxArtifactRef[];
};

/** A RunRegistryEntry is the record of one run. Schema: wp-codebox/run-registry-entry/v1 */
export type CodeboxRunRegistryEntry = {
  schema: "wp-codebox/run-registry-entry/v1";
  runId: string;
  status: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  lifecycle: CodeboxRunLifecycle;
  createdAt: string;
  updatedAt: string;
  heartbeatAt: string;
  artifactRefs: CodeboxRunArtifactRef[];
  runtime?: Record<string, unknown>;
  preview?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  result?: Record<string, unknown>;
  retention?: CodeboxRunRetention;
  replay?: CodeboxRunReplay;
  error?: CodeboxRunError;
};

/** A RunReliability says what kind of failure it was, and how often the run had been tried before. */
export type CodeboxRunReliability = {
  failureClassification: CodeboxRunFailureClass;
  retryCount: CodeboxRunMetric;
};

/** A RunReplay says how the run could be started again. */
export type CodeboxRunReplay = {
  command: string[];
  recipePath: string;
  ref?: string;
};

/** RunResourceEvidence is what a run really took, as the kernel and the clock counted it. A number that nobody counted is absent and says why: it is never zero by default. Schema: wp-codebox/run-resource-evidence/v1 */
export type CodeboxRunResourceEvidence = {
  schema: "wp-codebox/run-resource-evidence/v1";
  status: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
  timing: CodeboxRunTiming;
  resources: CodeboxRunResources;
  artifacts: CodeboxRunArtifactSize;
  phases: CodeboxRunPhaseEvidence[];
  reliability: CodeboxRunReliability;
};

/** RunResources is what deed's own process and the processes of the run used. */
export type CodeboxRunResources = {
  hostProcess?: CodeboxRunHostProcess;
  /** the largest process */
  runtimeMemory: CodeboxRunMetric;
  runtimeProcessCount: CodeboxRunMetric;
  runtimeUserTime: CodeboxRunMetric;
  runtimeSystemTime: CodeboxRunMetric;
  /** had to be ended after the main process */
  leftoverProcesses: CodeboxRunMetric;
};

/** A RunRetention says how long what a run left behind is kept. CleanupEligibleAt is an order: before it nothing is removed, after it everything may be. */
export type CodeboxRunRetention = {
  cleanupEligibleAt?: string;
  retainUntil?: string;
  retained?: boolean;
  reason?: string;
};

/** A RunTiming is how long the run took. Startup ends when the agent's process runs, not when deed begins to make it. */
export type CodeboxRunTiming = {
  startup: CodeboxRunMetric;
  duration: CodeboxRunMetric;
  cleanup: CodeboxRunMetric;
};

/** A RunnerWorkspace is a workspace by its one canonical identity, whatever aliases named it. */
export type CodeboxRunnerWorkspace = {
  handle: string;
  path?: string;
  backend?: string;
  repo?: string;
  target_repo?: string;
  repo_slug?: string;
};

/** A RunnerWorkspaceRef is the older, nested way to name a workspace. */
export type CodeboxRunnerWorkspaceRef = {
  handle?: string;
  name?: string;
  path?: string;
  backend?: string;
  repo?: string;
};

/** A Runtime names the execution environment that the bundle is evidence of. */
export type CodeboxRuntime = {
  id: string;
  backend: string;
  environment: CodeboxEnvironment;
  createdAt: string;
  status: string;
  previewUrl?: string;
};

/** A RuntimeOverlay replaces a library of the runtime. */
export type CodeboxRuntimeOverlay = {
  kind: "bundled-library";
  library: "php-ai-client";
  strategy: "wordpress-scoped-bundle";
  source: string;
  target?: string;
  bundle?: string;
  metadata?: Record<string, unknown>;
};

/** A RuntimeProfile is a set of placement fields that a caller keeps together. */
export type CodeboxRuntimeProfile = {
  id?: string;
  env?: Record<string, string>;
  overlays?: CodeboxRuntimeOverlay[];
  runtime_overlays?: CodeboxRuntimeOverlay[];
  provider_plugins?: CodeboxPluginSource[];
  component_contracts?: CodeboxComponentContract[];
  extra_plugins?: CodeboxPluginSource[];
  plugins?: CodeboxPluginSource[];
  mu_plugins?: CodeboxPluginSource[];
  runtime_stack_mounts?: CodeboxRequestMount[];
  runtime_config_mounts?: CodeboxRequestMount[];
  runtime_state_mounts?: CodeboxRequestMount[];
  metadata?: Record<string, unknown>;
};

/** A RuntimeReferenceManifest is files/runtime-reference-manifest.json: a hashed index of the files that a runtime left, tied to the bundle's id. Its digest covers everything but id, digest and createdAt. Schema: wp-codebox/runtime-reference-manifest/v1 */
export type CodeboxRuntimeReferenceManifest = {
  schema: "wp-codebox/runtime-reference-manifest/v1";
  version: number;
  id: string;
  createdAt: string;
  digest: CodeboxDigest;
  runtime: CodeboxRuntime;
  artifactBundle: CodeboxArtifactBundleRef;
  files: CodeboxReferenceFile[];
  trace?: CodeboxReferenceFile;
  events?: CodeboxReferenceFile;
  snapshots: CodeboxReferenceSnapshot[];
};

/** RuntimeRequirements is what a task needs of its runtime. */
export type CodeboxRuntimeRequirements = {
  /** after the request's own */
  extra_plugins?: CodeboxPluginSource[];
};

/** A RuntimeStack is what a request wants to have in the sandbox besides the workspaces: the placement fields of a request that name components, with those of its profile in front. Schema: deed/runtime-stack/v1 */
export type CodeboxRuntimeStack = {
  schema: "deed/runtime-stack/v1";
  /** the version; absent: no WordPress is booted */
  wordpress?: string;
  provider_plugin_paths?: string[];
  provider_plugins?: CodeboxPluginSource[];
  component_contracts?: CodeboxComponentContract[];
  plugins?: CodeboxPluginSource[];
  /** stack, config and state mounts, in this order */
  stack_mounts?: CodeboxRequestMount[];
  overlays?: CodeboxRuntimeOverlay[];
  agent_bundles?: CodeboxAgentBundle[];
  origins?: CodeboxOrigins;
};

/** A RuntimeState names a runtime and how it was left. */
export type CodeboxRuntimeState = {
  id: string;
  status: string;
};

/** A SandboxSession ties a run to the caller's own record of it. Schema: wp-codebox/sandbox-session/v1 */
export type CodeboxSandboxSession = {
  schema: "wp-codebox/sandbox-session/v1";
  /** the caller's; may be empty */
  id: string;
  status: "completed" | "failed" | "cancelled";
  persistence: string;
  agent_session_id?: string;
  artifacts?: CodeboxSessionArtifacts;
  orchestrator?: Record<string, unknown>;
  callback_data?: unknown;
};

/** A SandboxState names a sandbox. */
export type CodeboxSandboxState = {
  sandbox_session_id?: string;
  orchestrator?: Record<string, unknown>;
  artifacts_directory: string;
  artifact_bundle_id?: string;
};

/** A SandboxToolPolicy lists the tools that an agent may be given. What it does not list is denied. As a member of a request the empty object stands for no policy. Schema: wp-codebox/sandbox-tool-policy/v1 */
export type CodeboxSandboxToolPolicy = {
  schema?: "wp-codebox/sandbox-tool-policy/v1";
  version?: number;
  tools?: CodeboxToolRule[];
  metadata?: Record<string, unknown>;
};

/** A SerializedError is an error as data. */
export type CodeboxSerializedError = {
  name: string;
  message: string;
  code?: string;
};

/** SessionArtifacts says where a session's evidence is. What is unknown is empty. */
export type CodeboxSessionArtifacts = {
  directory: string;
  bundle_id: string;
  preview_url: string;
};

/** A Snippet is the end of a stream, redacted. */
export type CodeboxSnippet = {
  /** of the whole stream */
  bytes: number;
  truncated: boolean;
  value: string;
};

/** A StagedFile is a file or a directory that is copied into the sandbox. */
export type CodeboxStagedFile = {
  source: string;
  target: string;
  type?: "directory" | "file";
  metadata?: Record<string, unknown>;
};

/** A StructuredArtifact is a named piece of data that goes into a task or comes out of it. Schema: wp-codebox/structured-artifact/v1 */
export type CodeboxStructuredArtifact = {
  schema?: "wp-codebox/structured-artifact/v1";
  name: string;
  type: string;
  /** an id or a JSON Schema */
  payload_schema?: unknown;
  /** the same, as the two below */
  payloadSchema?: unknown;
  artifact_schema?: unknown;
  artifactSchema?: unknown;
  payload?: unknown;
  metadata?: Record<string, unknown>;
  provenance?: CodeboxArtifactProvenance;
};

/** A TaskInput is the normalised input of a task, as an envelope gives it back: every member is there. Schema: wp-codebox/task-input/v1 */
export type CodeboxTaskInput = {
  schema: "wp-codebox/task-input/v1";
  version: number;
  goal: string;
  target: Record<string, unknown>;
  allowed_tools: string[];
  expected_artifacts: string[];
  structured_artifacts: CodeboxStructuredArtifact[];
  staged_files?: CodeboxStagedFile[];
  agent_bundles?: CodeboxAgentBundle[];
  tool_bridge: Record<string, unknown>;
  parent_tool_bridge: Record<string, unknown>;
  sandbox_tool_policy: CodeboxSandboxToolPolicy;
  policy: Record<string, unknown>;
  context: Record<string, unknown>;
};

/** A TaskRequest asks for one run of an agent: the task input, and where and with what the agent works. Every source is an absolute path on the caller's machine; every target is an absolute path that the agent sees. */
export type CodeboxTaskRequest = {
  schema: "wp-codebox/task-input/v1";
  /** absent: 1 */
  version?: number;
  goal: string;
  /** kind (repo, site, plugin, theme, other), ref, path, url */
  target?: {
    kind?: "repo" | "site" | "plugin" | "theme" | "other";
    path?: string;
    ref?: string;
    url?: string;
  };
  allowed_tools?: string[];
  expected_artifacts?: string[];
  /** input of the task */
  structured_artifacts?: CodeboxStructuredArtifact[];
  staged_files?: CodeboxStagedFile[];
  /** the same */
  stagedFiles?: CodeboxStagedFile[];
  agent_bundles?: CodeboxAgentBundle[];
  /** one more, first in order */
  agent_bundle?: CodeboxAgentBundle;
  tool_bridge?: Record<string, unknown>;
  parent_tool_bridge?: Record<string, unknown>;
  /** absent or {}: every tool is denied */
  sandbox_tool_policy?: CodeboxSandboxToolPolicy;
  /** approvals, applyBack, sandbox, and what the caller adds */
  policy?: {
    applyBack?: "disabled" | "reviewed";
    approvals?: "never" | "on-write" | "on-command";
    sandbox?: "required" | "preferred";
    allow_secrets?: string[];
    limits?: Record<string, unknown>;
    network?: unknown;
    protect?: string[];
    scope?: string[];
  };
  context?: Record<string, unknown>;
  /** absent: wp-codebox-sandbox */
  agent?: string;
  /** absent: sandbox */
  mode?: string;
  provider?: string;
  model?: string;
  provider_plugin_paths?: string[];
  provider_plugins?: CodeboxPluginSource[];
  component_contracts?: CodeboxComponentContract[];
  extra_plugins?: CodeboxPluginSource[];
  runtime_stack_mounts?: CodeboxRequestMount[];
  /** after the stack's */
  runtime_config_mounts?: CodeboxRequestMount[];
  /** the same */
  runtimeConfigMounts?: CodeboxRequestMount[];
  /** after the config's */
  runtime_state_mounts?: CodeboxRequestMount[];
  /** the same */
  runtimeStateMounts?: CodeboxRequestMount[];
  runtime_overlays?: CodeboxRuntimeOverlay[];
  /** no profile exists: any is refused */
  runtime_overlay_profiles?: string[];
  /** no secrets: those are named in secret_env */
  runtime_env?: Record<string, string>;
  /** the same */
  runtimeEnv?: Record<string, string>;
  /** its entries come before the request's own */
  runtime_profile?: CodeboxRuntimeProfile;
  /** the same */
  runtimeProfile?: CodeboxRuntimeProfile;
  runtime_requirements?: CodeboxRuntimeRequirements;
  /** names of variables in the caller's environment, never values */
  secret_env?: string[];
  workspaces?: CodeboxRequestWorkspace[];
  mounts?: CodeboxRequestMount[];
  dependency_overlays?: Record<string, unknown>[];
  workspace_preloads?: Record<string, unknown>[];
  runtime_task?: Record<string, unknown>;
  /** run in a clean room; all that are not advisory must pass */
  verify_steps?: CodeboxVerifyStep[];
  task_timeout_seconds?: number;
  max_turns?: number;
  /** the agent's conversation */
  session_id?: string;
  /** the caller's own id, given back */
  sandbox_session_id?: string;
  artifacts_path?: string;
  source_package_root?: string;
  wp?: string;
  /** correlation only, as the two below */
  parent_request?: Record<string, unknown>;
  orchestrator?: Record<string, unknown>;
  callback_data?: unknown;
  /** refused, unless null or blank */
  code?: null | (string & {});
  /** refused, unless null or blank */
  code_file?: null | (string & {});
};

/** A TerminalResult says how the agent's work ended. Its status decides over every other sign. Schema: wp-codebox/agent-terminal-result/v1 */
export type CodeboxTerminalResult = {
  schema: "wp-codebox/agent-terminal-result/v1";
  terminal: boolean;
  /** a terminal status, or max_turns, incomplete, unknown */
  status: string;
  success: boolean;
  source?: string;
  failure_classification?: string;
  pending_tools?: CodeboxPendingTools;
  max_turns?: CodeboxTurnLimit;
  evidence_refs: CodeboxEvidenceRef[];
  diagnostics?: CodeboxDiagnostic[];
};

/** TestResults is files/test-results.json. Schema: wp-codebox/test-results/v1 */
export type CodeboxTestResults = {
  schema: "wp-codebox/test-results/v1";
  status: string;
  summary: CodeboxTestSummary;
  suites: CodeboxTestSuite[];
  rawLogReferences: CodeboxFileReference[];
};

/** A TestSuite counts the tests of one suite. */
export type CodeboxTestSuite = {
  name: string;
  status: string;
  tests: number;
  passed: number;
  failed: number;
  skipped: number;
  unknown: number;
  /** deed: of the check that the suite is; without tests it is all that is known */
  exitCode?: number;
  rawLogReferences?: CodeboxFileReference[];
};

/** A TestSummary counts tests over all suites. */
export type CodeboxTestSummary = {
  total: number;
  passed: number;
  failed: number;
  skipped: number;
  unknown: number;
};

/** A ToolArtifact names a persisted input or output of a call. */
export type CodeboxToolArtifact = {
  path: string;
  kind?: string;
  contentType?: string;
  sha256?: CodeboxDigest;
};

/** A ToolCall is one call. */
export type CodeboxToolCall = {
  call_id: string;
  tool_name: string;
  tool_type: string;
  phase: string;
  status: string;
  started_at?: string;
  finished_at?: string;
  input_artifacts?: CodeboxToolArtifact[];
  output_artifacts?: CodeboxToolArtifact[];
  input_digest?: CodeboxDigest;
  output_digest?: CodeboxDigest;
  redaction: CodeboxFileRedaction;
  metadata?: Record<string, unknown>;
};

/** A ToolCallTranscript is the evidence of tool and command calls, with references to their persisted input and output. Schema: wp-codebox/tool-call-transcript/v1 */
export type CodeboxToolCallTranscript = {
  schema: "wp-codebox/tool-call-transcript/v1";
  tool_calls: CodeboxToolCall[];
  redaction: CodeboxFileRedaction;
  metadata?: Record<string, unknown>;
};

/** A ToolObservability lists which tools were called, and nothing of what was said to them. */
export type CodeboxToolObservability = {
  version: number;
  calls: CodeboxObservedCall[];
};

/** A ToolRule is one tool of a policy. */
export type CodeboxToolRule = {
  id: string;
  runtime_tool_id: string;
  aliases?: string[];
  execution_location: "sandbox" | "parent";
  transport_visibility: "sandbox" | "parent" | "both" | "hidden";
  allowed: boolean;
  runtime: CodeboxToolRuntime;
  risk?: string;
  action?: string;
  metadata?: Record<string, unknown>;
};

/** A ToolRuntime repeats where a tool runs; both words are runtime_local in the sandbox and control_plane outside. */
export type CodeboxToolRuntime = {
  environment: "runtime_local" | "control_plane";
  capability_scope: "runtime_local" | "control_plane";
};

/** A TranscriptSummary points at the transcript. */
export type CodeboxTranscriptSummary = {
  artifact: string;
  executionCount: number;
};

/** A TurnLimit says whether the agent used up its turns. */
export type CodeboxTurnLimit = {
  reached: boolean;
  current?: number;
  max?: number;
};

/** A VerificationCommand is one command with its exit code. */
export type CodeboxVerificationCommand = {
  command: string;
  exitCode: number;
};

/** A VerifyStep is a command that must pass in a clean room made of the base and the agent's patch. The members below advisory are deed's own: what its command line can ask of a check. */
export type CodeboxVerifyStep = {
  name?: string;
  /** a program, or wordpress.run-php */
  command?: string;
  args?: string[];
  /** instead of a command: a line for /bin/sh -c */
  shell?: string;
  /** below the workspace */
  dir?: string;
  env?: Record<string, string>;
  timeout_seconds?: number;
  /** a failure is told and does not count */
  advisory?: boolean;
  /** instead of a command: the project's own, compared with the base */
  capability?: "lint" | "test" | "build" | "audit";
  /** globs of what it judges by; absent: the usual ones */
  inputs?: string[];
  /** absent: rerun_pinned */
  on_changed_inputs?: "refuse" | "rerun_pinned" | "ask";
  /** true: old failures count too; false: they never do */
  require_pass?: boolean;
  /** the agent is not told of it */
  hidden?: boolean;
  /** with hidden: an absolute directory that is laid over the tree before the step */
  files?: string;
};

/** A Viewer tells how a web page shows a file. */
export type CodeboxViewer = {
  kind: string;
  base: string;
  query: CodeboxViewerQuery;
  replay: CodeboxViewerReplay;
};

/** A ViewerQuery is the query parameter that carries the file to a viewer. */
export type CodeboxViewerQuery = {
  parameter: string;
  value: Record<string, unknown>;
  encoding: string;
};

/** A ViewerReplay says how much of a run a viewer can show again. */
export type CodeboxViewerReplay = {
  status: string;
  limitations: string[];
};

/** A Violation is one fault of a bundle: a code that programs read, the field that is wrong, and a sentence. */
export type CodeboxViolation = {
  code: string;
  path: string;
  message: string;
  file?: string;
  details?: Record<string, unknown>;
};

/** A WorkspaceError says what went wrong. */
export type CodeboxWorkspaceError = {
  code: string;
  message: string;
  /** members of the request that were not given */
  missing?: string[];
};

/** A WorkspaceSeed says what a workspace starts from. */
export type CodeboxWorkspaceSeed = {
  type: "directory" | "git" | "bundle" | "empty" | "plugin_scaffold" | "theme_scaffold";
  /** of directory and git, and the base of bundle */
  source?: string;
  /** of git: a commit, a tag or a branch */
  ref?: string;
  /** of bundle: the evidence bundle's directory */
  bundle?: string;
  /** of a scaffold; elsewhere the name in the default target */
  slug?: string;
  /** of a scaffold: the name that people read */
  name?: string;
  /** how much of a repository's history the agent gets: absent or full: what the base commit reaches; none: one commit */
  history?: "full" | "none";
  /** below the source, and in its history: a path with all below it, or a prefix that ends in * */
  excludePaths?: string[];
};

/** WorkspaceTools carries what the workspace tools had to say. */
export type CodeboxWorkspaceTools = {
  diagnostics: unknown[];
};

/** A WrappedRequest is a request around a task input. */
export type CodeboxWrappedRequest = {
  schema: "wp-codebox/agent-task-run-request/v1";
  task_input: CodeboxTaskRequest;
  /** the sandbox_session_id of a task input without one */
  task_id?: string;
  artifacts_path?: string;
  callback_data?: unknown;
};

/** A CodexAdapter runs the Codex CLI. */
export type CodexAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "codex";
  command: string;
  working_dir?: string;
  timeout_ms: number;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  env_file?: string;
  env?: Record<string, string>;
  model?: string;
  provider?: CodexProvider;
  autonomy?: HarnessAutonomy;
  extra_args?: string[];
};

/** A CodexProvider selects a model provider for Codex. */
export type CodexProvider = {
  id: string;
  name?: string;
  base_url?: string;
  wire_api?: "responses";
  requires_openai_auth?: boolean;
};

/** A CommandAdapter runs any agent CLI that takes a prompt and ends when its answer is there. */
export type CommandAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "command";
  command: string;
  /** may hold placeholders */
  args?: string[];
  /** instead of args, to go on with a conversation; absent: each turn begins anew */
  resume_args?: string[];
  /** absent: stdin */
  prompt?: "stdin" | "file";
  /** absent: text */
  events?: "text" | "claude-stream-json" | "codex-json";
  /** finds the conversation's id in the output; its first group, else the whole match */
  session_pattern?: string;
  working_dir?: string;
  timeout_ms: number;
  env_file?: string;
  env?: Record<string, string>;
  model?: string;
  /** what its model needs, as api.example.com:443 */
  hosts?: string[];
  autonomy?: HarnessAutonomy;
  /** after args and after resume_args; taken as they are */
  extra_args?: string[];
};

/** A CompletionAttempt is one time that an agent said it was done. Schema: agent-runtime/completion.attempt/v1 */
export type CompletionAttempt = {
  schema?: "agent-runtime/completion.attempt/v1";
  id: string;
  /** 1, 2, … within the attempt */
  number: number;
  turn?: number;
  /** the agent's word */
  claim?: string;
  decision?: CompletionDecision;
  /** what was judged */
  workspaceDigest?: string;
  at?: string;
};

/** A CompletionDecision is the gate's answer to a completion attempt. A rejection has reasons. Schema: agent-runtime/completion.decision/v1 */
export type CompletionDecision = {
  schema?: "agent-runtime/completion.decision/v1";
  accepted: boolean;
  reasons: string[];
};

/** A ContextCompaction is one time that a conversation was shortened. Schema: agent-runtime/context.compaction/v1 */
export type ContextCompaction = {
  schema?: "agent-runtime/context.compaction/v1";
  id: string;
  turn?: number;
  subagentId?: string;
  /** share_reached, context_error, or the agent's own */
  reason: string;
  tokensBefore?: number;
  tokensAfter?: number;
  /** what went over word for word, by name */
  carried?: string[];
  summaryDigest?: string;
  at?: string;
};

/** A ContextPolicy bounds what a brief holds. */
export type ContextPolicy = {
  max_prompt_chars: number;
  include_recent_memory: boolean;
};

export type CoverageCount = {
  pct: number;
  total: number;
  covered: number;
};

export type CoverageView = {
  lines: CoverageCount;
  methods: CoverageCount;
  min?: number;
  changed_min?: number;
  changed_lines?: CoverageCount;
  uncovered_files?: CoveredFile[];
  format?: string;
};

export type CoveredFile = {
  file: string;
  line_pct: number;
};

/** Abilities is deed-abilities.json at the top of a runtime component: what it can be asked to do. Schema: deed/abilities/v1 */
export type DeedAbilities = {
  schema: "deed/abilities/v1";
  abilities: DeedAbility[];
};

/** An Ability is one thing that a component can be asked to do: a command, or a PHP file that runs with WordPress loaded. It gets its input as JSON and gives its result as JSON. A command reads its input from standard input and prints its result on standard output, alone. A PHP file returns a function of the input. */
export type DeedAbility = {
  name: string;
  description?: string;
  /** a first item with a slash, as in ./run.sh, is a file of the component */
  command?: string[];
  /** a file of the component */
  php?: string;
  token_env?: string;
  token_sha256?: string;
  input_schema?: Record<string, unknown>;
  output_schema?: Record<string, unknown>;
};

/** An AdapterAudit is an adapter's own account of what it ran and changed. The gate compares it with what deed saw; by itself it proves nothing. Schema: deed/adapter-audit/v1 */
export type DeedAdapterAudit = {
  schema: "deed/adapter-audit/v1";
  commands?: DeedAuditCommand[];
  file_changes: string[];
  exit_code?: number;
};

/** An AuditCommand is one command that the adapter says it ran. */
export type DeedAuditCommand = {
  argv: string[];
  exit_code: number;
};

/** A Budget bounds what one task may use, over all its attempts and recovery turns. What is absent is no bound. */
export type DeedBudget = {
  turns?: number;
  tool_calls?: number;
  /** input and output together */
  tokens?: number;
  cost_usd?: number;
  /** of the agent, checks not included */
  wall_seconds?: number;
};

/** A ChangedInput is one file that a check judges by and that the agent did not leave as it was. */
export type DeedChangedInput = {
  path: string;
  /** added, modified, deleted, type_changed */
  status: string;
};

/** A Check is something that deed itself runs in a clean room made of the base and the agent's patch: a command, or a capability of the project (its tests, its linters). It is run on the base as well, so that the two can be compared. */
export type DeedCheck = {
  name?: string;
  /** an argument vector */
  command?: string[];
  /** or a line for /bin/sh -c */
  shell?: string;
  capability?: "lint" | "test" | "build" | "audit";
  /** below the workspace */
  dir?: string;
  env?: Record<string, string>;
  timeout_seconds?: number;
  /** a failure is told and does not count */
  advisory?: boolean;
  /** with capability: this one, where several have it */
  extension?: string;
  /** with capability: only these steps of its script */
  steps?: string[];
  /** with capability: not these */
  skip?: string[];
  /** with capability: an object, on top of the project's settings */
  settings?: Record<string, unknown>;
  /** globs of what it judges by; absent: the usual ones of its capability */
  inputs?: string[];
  /** absent: rerun_pinned, and a person is asked where only that run fails */
  on_changed_inputs?: "refuse" | "rerun_pinned" | "ask";
  /** true: old failures count too; false: they never do; absent: something that failed must have been fixed, and with files everything */
  require_pass?: boolean;
  /** the agent is not told of it */
  hidden?: boolean;
  /** with hidden: an absolute directory that is laid over the tree before the check */
  files?: string;
  /** set by deed: what was in that directory when the task was admitted */
  files_digest?: string;
};

/** A CheckComparison holds a capability on the base against the same after the change. Each list has its first hundred, in order; the counts are of all. */
export type DeedCheckComparison = {
  base?: TestResults;
  after?: TestResults;
  /** of each list by its name */
  counts: Record<string, number>;
  newly_failing?: string[];
  still_failing?: string[];
  fixed?: string[];
  vanished?: string[];
  newly_skipped?: string[];
  new?: string[];
  /** that two runs on the base do not agree on */
  unstable?: string[];
  /** findings: where, what */
  introduced?: string[];
  /** by fingerprint */
  resolved?: string[];
};

/** A CheckResult is what deed saw when it ran one check. Of a capability that was run several times, status, exit code and log are those of the run that decided, and the comparison is that of the base with it. */
export type DeedCheckResult = {
  name: string;
  command: string[];
  /** passed, failed, timeout, error */
  status: "passed" | "failed" | "timeout" | "error";
  exit_code: number;
  duration_ms: number;
  /** the bundle's path of its output */
  log?: string;
  /** the last lines, redacted */
  tail?: string;
  /** its failure is no ground for refusal */
  advisory?: boolean;
  capability?: string;
  /** that ran it */
  extension?: string;
  extension_digest?: string;
  /** the agent was not told of it */
  hidden?: boolean;
  /** the bundle's path of what was seen on the tree as the agent left it */
  report?: string;
  /** of the same on the base */
  base_report?: string;
  /** of the same with the changed inputs put back */
  pinned_report?: string;
  /** of the base's report */
  base_status?: string;
  /** the base's report is from an earlier run */
  base_cached?: boolean;
  /** tests of deed's own that had to be seen to pass, and then to fail */
  witnesses?: number;
  /** of one that passed */
  grade?: "passing" | "fixed";
  /** what the result rests on */
  observed?: "tests" | "findings" | "exit_code";
  /** the test runners that were seen to run */
  runners?: string[];
  /** files of the base that were seen to drive the check: they are inputs */
  programs?: string[];
  /** what it judges by and the agent changed */
  changed_inputs?: DeedChangedInput[];
  comparison?: DeedCheckComparison;
};

/** A Config is one deed.yaml. Schema: deed/config/v1 */
export type DeedConfig = {
  schema?: "deed/config/v1";
  /** the name of this runtime: agents see it as AGENT_RUNTIME_NAME */
  name?: string;
  /** the internal name of the agent that this runtime is; absent: none */
  agent?: string;
  /** a postgres:// address; absent: the database in the home */
  database?: string;
  defaults?: DeedConfigDefaults;
  retry?: DeedConfigRetry;
  retention?: DeedConfigRetention;
  budgets?: DeedConfigBudgets;
  /** by the name of a model or a glob over names: what its tokens cost */
  prices?: Record<string, DeedConfigPrice>;
  adapters?: Record<string, AdapterConfig>;
  profiles?: Record<string, SubagentProfile>;
  task_types?: Record<string, TaskTypeSpec>;
  /** Components are the runtimes that a run can have beside its workspace. */
  components?: DeedConfigComponents;
  /** Publish says how the change of a runner's workspace is published. */
  publish?: DeedConfigPublish;
  /** Outbox says where the messages of agents may go. */
  outbox?: DeedConfigOutbox;
  /** Notify has a person told of what happens. */
  notify?: DeedConfigNotifyRule[];
  /** Sensors push what they see into the queue, by the name that their events bear, in the home's file alone. */
  sensors?: Record<string, DeedConfigSensor>;
  /** Policy says what agents may do. A project's file can narrow it and no more. */
  policy?: DeedConfigPolicy;
  /** Policies are lists of rules that a task can be narrowed by, by name. */
  policies?: Record<string, DeedConfigPolicyRules>;
  /** Checks is what the component in the file's directory says of itself. */
  checks?: DeedConfigChecks;
  /** Runtimes is about runtime packages. A project's file may say which backend is its default, and no more. */
  runtimes?: DeedConfigRuntimes;
  /** Secrets say where values are that tasks and runtime packages ask for by name, in the home's file alone. */
  secrets?: Record<string, DeedConfigSecret>;
};

/** Budgets bound what agents may use. */
export type DeedConfigBudgets = {
  /** of each task, where it does not say otherwise */
  task?: DeedBudget;
  /** of all tasks together, from midnight to midnight in UTC */
  day?: DeedBudget;
};

/** A CheckExtension links an extension to a component. */
export type DeedConfigCheckExtension = {
  /** a constraint, as in ^1.2; absent: any */
  version?: string;
  settings?: Record<string, unknown>;
};

/** A CheckScope selects files by globs over paths below the component. */
export type DeedConfigCheckScope = {
  include?: string[];
  exclude?: string[];
};

/** Checks is what a component says of its own lint, test, build and audit, in the deed.yaml of its directory. The names are those of homeboy.json, which may stand beside it: what is said here wins over what is said there. */
export type DeedConfigChecks = {
  /** absent: made from the directory's name */
  id?: string;
  /** Extensions are those that serve the component, by id. Without any, deed's own serve that the files call for. */
  extensions?: Record<string, DeedConfigCheckExtension>;
  /** by capability: which of several extensions has it */
  capability_extensions?: Record<string, string>;
  /** by capability: commands of the component's own, run instead of an extension */
  scripts?: Record<string, string[]>;
  /** by event, as in pre:test: commands */
  hooks?: Record<string, string[]>;
  build_artifact?: string;
  version_targets?: DeedConfigVersionTarget[];
  /** of the scripts, below the variables of the runner contract */
  env?: Record<string, string>;
  /** by capability, or defaults: which files */
  scopes?: Record<string, DeedConfigCheckScope>;
  /** which files are production code, and which are tests */
  test_drift?: DeedConfigTestDrift;
  audit?: Record<string, unknown>;
  audit_rules?: Record<string, unknown>;
};

/** Components says where the runtimes are that deed does not bring. */
export type DeedConfigComponents = {
  wordpress?: DeedConfigWordPress;
};

/** Defaults fill what a task leaves open. */
export type DeedConfigDefaults = {
  adapter_id?: string;
  profile_id?: string;
  max_attempts?: number;
  lease_seconds?: number;
  /** Isolation contains the tasks that ask for none of their own. Absent: process. */
  isolation?: "none" | "process" | "namespace" | "container";
  /** RequireGrade is the least that accepted work has to prove, of every task. Absent: nothing. */
  require_grade?: "passing" | "fixed";
  /** AgeingSeconds lets an old task overtake: one priority step is worth this much waiting. 0: strict priority. */
  ageing_seconds?: number;
};

/** A Hook is one command. */
export type DeedConfigHook = {
  type: "command";
  /** a line for /bin/sh -c */
  command: string;
  /** seconds; 0: 60 */
  timeout?: number;
};

/** A HookMatcher runs commands for the tools that it matches. */
export type DeedConfigHookMatcher = {
  /** a regular expression over the whole name; absent, empty or *: all */
  matcher?: string;
  hooks: DeedConfigHook[];
};

/** A NotifyRule has a person told of what happens while deed serves. Only the operator's own file has any. */
export type DeedConfigNotifyRule = {
  /** the kinds of deed/notification/v1 */
  on: string[];
  /** a target of outbox.targets or bell */
  to: string;
  /** absent: 30 */
  per_hour?: number;
};

/** An Outbox says where the messages of agents may go. Only the operator's own file has one. */
export type DeedConfigOutbox = {
  /** by the name that a message gives as its target */
  targets?: Record<string, DeedConfigTarget>;
  /** of one message; absent: 10 */
  max_attempts?: number;
};

/** A Policy says what agents may do at the tool boundary, and what is asked before they may stop. */
export type DeedConfigPolicy = {
  rules?: DeedRule[];
  /** UnattendedDefault decides on what no rule names. Absent: deny where there are rules, else allow. */
  unattended_default?: "deny" | "allow" | "ask";
  hooks?: DeedConfigPolicyHooks;
  ask?: DeedConfigPolicyAsk;
};

/** PolicyAsk says how a person is asked. */
export type DeedConfigPolicyAsk = {
  /** LiveSeconds is how long the agent waits for the answer before its task is set aside. Absent: 120. */
  live_seconds?: number;
  /** DeadlineSeconds is after how long nobody's answer is a no. Absent: 86400. */
  deadline_seconds?: number;
  /** MayAnswer lists who may answer, as the system names them. Absent: any operator. */
  may_answer?: string[];
};

/** PolicyHooks are commands of the operator's, in the shape of Claude's settings: they get JSON on their standard input and answer on their standard output or by their exit code. */
export type DeedConfigPolicyHooks = {
  /** before a call; may deny it */
  PreToolUse?: DeedConfigHookMatcher[];
  /** after a call; what it says is told to the agent */
  PostToolUse?: DeedConfigHookMatcher[];
  /** when the agent says that it is done; may refuse */
  Stop?: DeedConfigHookMatcher[];
  /** the same for a subagent */
  SubagentStop?: DeedConfigHookMatcher[];
};

/** PolicyRules are rules under a name. */
export type DeedConfigPolicyRules = {
  rules: DeedRule[];
};

/** A Price is what the tokens of a model cost, in dollars for a million of them. It replaces the one in deed's own table, whole. All 0 is a model that costs nothing, such as one on a machine of one's own. */
export type DeedConfigPrice = {
  input_per_mtok_usd: number;
  /** absent: as input */
  cached_input_per_mtok_usd?: number;
  /** absent: as input */
  cache_write_per_mtok_usd?: number;
  output_per_mtok_usd: number;
};

/** Publish configures publication. */
export type DeedConfigPublish = {
  pull_request?: DeedConfigPullRequestHook;
};

/** A PullRequestHook is the command that opens a pull request for a branch that deed wrote. It gets the publication request on its standard input, DEED_BRANCH, DEED_COMMIT, DEED_BASE_SHA and DEED_REMOTE in its environment, and answers {"number", "url", "reused", "opened"} on its standard output. A relative command is taken from the file's directory. */
export type DeedConfigPullRequestHook = {
  command: string[];
};

/** Retention is how long the bundles and the records of what has ended are kept. What is absent is no limit: without any of them everything is kept for ever. Oldest goes first; what belongs to a task that has not ended never goes. Versions of skills that nobody needs go by MaxAgeDays alone. */
export type DeedConfigRetention = {
  max_age_days?: number;
  max_count?: number;
  max_bytes?: number;
  /** KeepFailedDays protects what did not succeed from the other limits for this long. */
  keep_failed_days?: number;
  /** SensorEventDays is how long what sensors saw is kept, once its task has ended and its dedupe window is over. An event that comes again after that is a new one, also where its key had no window. */
  sensor_event_days?: number;
};

/** Retry is the waiting rule between attempts: base doubled with every attempt, up to max, spread by jitter. */
export type DeedConfigRetry = {
  base_seconds?: number;
  max_seconds?: number;
  /** RetryAfterCapSeconds limits how long a service's own Retry-After can make a task wait. */
  retry_after_cap_seconds?: number;
  jitter?: number;
};

/** A RuntimeBackend says how the providers of a backend run on this machine. */
export type DeedConfigRuntimeBackend = {
  /** KEY=VALUE lines; secrets are looked up in it by name */
  env_file?: string;
  /** HOST[:PORT] that a contained provider may reach */
  hosts?: string[];
  isolation?: "none" | "process" | "namespace" | "container";
};

/** Runtimes says which backend runs a request that names none, where more runtime packages are, and how backends run. Packages never say which backend is the default: it is the caller's to know. */
export type DeedConfigRuntimes = {
  default_backend?: string;
  /** Dirs are directories of packages, or packages. A relative one is taken from this file's directory. */
  dirs?: string[];
  backends?: Record<string, DeedConfigRuntimeBackend>;
};

/** A Secret says where the value of a secret is. It has exactly one of its first three members. */
export type DeedConfigSecret = {
  /** another variable of deed's environment */
  env?: string;
  /** a file that holds the value and nothing else */
  file?: string;
  /** an argv that prints it; no shell */
  command?: string[];
  /** TimeoutSeconds bounds the command. 0: 10 seconds. */
  timeout_seconds?: number;
};

/** A Sensor looks at something and pushes what is new into the queue. Only the operator's own file has sensors. */
export type DeedConfigSensor = {
  kind: "command" | "git" | "directory" | "mailbox" | "http" | "push";
  /** command: the program and its arguments, without a shell */
  command?: string[];
  /** command: it goes on for ever, and prints events as they happen */
  watch?: boolean;
  /** git: a path or an address */
  repository?: string;
  /** git: full names or globs, such as refs/heads/*; absent: HEAD */
  refs?: string[];
  /** directory, mailbox; a relative path is taken from this file's directory */
  directory?: string;
  /** directory, mailbox: a glob over the names; absent: all, without those that begin with a dot */
  pattern?: string;
  /** directory: where a file goes once its event is taken */
  move_to?: string;
  /** http */
  url?: string;
  /** http: the variable with a bearer token; command: one that it gets; push: the one with the key that signs what is sent over HTTP */
  secret_env?: string;
  /** http: what is answered are events, and not something to tell of */
  events?: boolean;
  /** git, directory, http: what is there at the first look is new */
  from_start?: boolean;
  every_seconds?: number;
  timeout_seconds?: number;
  /** new ones in a run, the rest waits; absent: 100 */
  max_events?: number;
  /** how long a key is held; absent: for ever */
  dedupe_window_seconds?: number;
  /** of events that name no deadline; absent: they do not grow stale */
  freshness_seconds?: number;
  /** of failures, until a person is asked; absent: an hour */
  unhealthy_after_seconds?: number;
  /** what an event that proposes nothing makes */
  task?: DeedConfigSensorTask;
  /** what such an event starts or wakes */
  workflow?: DeedConfigSensorWorkflow;
};

/** A SensorTask says which task an event makes. Its texts may name parts of the event: ${event_id}, ${source_ref}, ${type}, ${sensor_id}, ${dedupe_key}, ${payload.NAME}. The task's payload is the event's, with this one laid over it. */
export type DeedConfigSensorTask = {
  task_type: string;
  subject?: string;
  description?: string;
  profile_id?: string;
  adapter_id?: string;
  model?: string;
  skill_ids?: string[];
  priority?: number;
  payload?: Record<string, unknown>;
};

/** A SensorWorkflow says which workflow an event starts or wakes. The context is the event's payload, with this one laid over it; its texts may name parts of the event too. */
export type DeedConfigSensorWorkflow = {
  template: string;
  /** may name parts of the event, as a task's texts */
  instance_key: string;
  state?: string;
  context?: Record<string, unknown>;
};

/** A Target takes messages. Nothing is sent to a name that is not here. */
export type DeedConfigTarget = {
  kind: "task" | "file" | "command" | "webhook";
  /** task: of the task that is made */
  task_type?: string;
  /** file: where; a relative path is taken from this file's directory */
  directory?: string;
  /** command: the program and its arguments, without a shell */
  command?: string[];
  /** webhook */
  url?: string;
  /** webhook: the variable of deed's environment with the key that signs; command: one that it gets */
  secret_env?: string;
  /** absent: 30 */
  timeout_seconds?: number;
  /** whose messages it takes; absent: those of every profile that may send any */
  profiles?: string[];
  /** of which tasks; absent: of all */
  task_types?: string[];
  /** a person agrees to each message first: `deed outbox retry` */
  supervised?: boolean;
};

/** TestDrift says which files are compared when production code and tests drift apart. */
export type DeedConfigTestDrift = {
  source_dirs?: string[];
  test_dirs?: string[];
  file_extensions?: string[];
  inline_tests?: boolean;
};

/** A VersionTarget is a file that names the component's version. The pattern has one group; without one deed knows the usual manifests. */
export type DeedConfigVersionTarget = {
  file: string;
  pattern?: string;
};

/** WordPress says where an installed WordPress is. Without it a run that needs one is refused. */
export type DeedConfigWordPress = {
  /** a zip file or a directory; a relative path is taken from this file's directory */
  archive: string;
  /** the sqlite-database-integration plugin; absent: the archive's own */
  sqlite?: string;
  /** the interpreter; absent: php */
  php?: string;
};

/** A ConformCheck is one check. Its id never changes its meaning. */
export type DeedConformCheck = {
  id: string;
  /** absent: it is about the package */
  provider?: string;
  level: "must" | "should";
  result: "pass" | "warn" | "fail" | "skip";
  rule: string;
  /** why, when it did not pass */
  reason?: string;
  /** the end of what the command said */
  evidence?: string;
};

/** A ConformReport says how a runtime package keeps the provider command contract. Schema: deed/conform.report/v1 */
export type DeedConformReport = {
  schema: "deed/conform.report/v1";
  package: string;
  path: string;
  version?: string;
  /** of all files of the package */
  digest?: string;
  /** what its commands ran behind */
  isolation?: "process" | "namespace";
  /** no check of level must failed */
  passed: boolean;
  totals: DeedConformTotals;
  checks: DeedConformCheck[];
};

/** ConformTotals counts the checks by what came of them. */
export type DeedConformTotals = {
  pass: number;
  warn: number;
  fail: number;
  skip: number;
};

/** An Error is what a command prints under --json instead of its document, when it has none to print: a command line that cannot be read, a file that is not there, a database that does not open. Schema: deed/error/v1 */
export type DeedError = {
  schema: "deed/error/v1";
  error: DeedErrorReason;
};

/** An ErrorReason says why, in words and for programs. */
export type DeedErrorReason = {
  message: string;
  /** what exit_code means */
  kind: "not_done" | "usage" | "infrastructure" | "locked" | "interrupted";
  exit_code: number;
  /** of the input, where it is that */
  faults?: Fault[];
};

/** A GoalPayload is what the tasks of a goal carry. There may be more in it. Schema: deed/payload.goal/v1 */
export type DeedGoalPayload = {
  schema?: "deed/payload.goal/v1";
  /** what is to be reached */
  objective: string;
  phase?: string;
  scope?: string[];
  /** how anybody will see that it is reached */
  acceptance_criteria?: string[];
  /** where the task stands in its workflow */
  workflow?: Record<string, unknown>;
};

/** Limits bound what the processes of one run use together. 0 is the default, -1 no limit. */
export type DeedLimits = {
  memory_bytes?: number;
  processes?: number;
  /** the size of a single file */
  file_bytes?: number;
  /** of a single process */
  open_files?: number;
  /** what the run writes altogether */
  disk_bytes?: number;
};

/** A Message is what a target of the outbox gets: a message that a settled, accepted attempt asked for, and where it is from. It may come more than once, after a crash; it has the same id then. Schema: deed/outbox.message/v1 */
export type DeedMessage = {
  schema: "deed/outbox.message/v1";
  id: string;
  target: string;
  task_id: string;
  attempt_id: string;
  task_type?: string;
  profile_id?: string;
  /** of the task */
  subject?: string;
  created_at: string;
  /** how often it was tried, this time included */
  delivery: number;
  /** as the agent wrote it */
  body: Record<string, unknown>;
};

/** A Mount shows a file or a directory of the machine inside a sandbox. The agent can read it and not change it. */
export type DeedMount = {
  /** absolute, on the machine */
  source: string;
  /** absolute, inside; empty: the same path */
  target?: string;
};

/** A Notification tells a person that something happened while deed served. The store has the whole; this is a tap on the shoulder. Schema: deed/notification/v1 */
export type DeedNotification = {
  schema: "deed/notification/v1";
  id: string;
  kind: "action_open" | "task_done" | "task_failed" | "budget_reached" | "runner_lost" | "undelivered";
  at: string;
  /** one line for a person; parts of it may be an agent's words */
  title: string;
  task_id?: string;
  attempt_id?: string;
  action_id?: string;
  /** of the task */
  subject?: string;
  /** that shows or answers it */
  command?: string;
  /** others that were left out since the last one, to keep the rule's rate */
  more?: number;
};

/** A Progress is one line of the progress stream of a run. Seq counts every line that the run had to say, so that a gap shows lines that were dropped because the reader was slow. A heartbeat says only that the run is alive. The line with terminal true is the last one. There is no percentage: nobody knows how long an agent takes. Schema: deed/progress/v1 */
export type DeedProgress = {
  schema: "deed/progress/v1";
  seq: number;
  at: string;
  run_id: string;
  task_id?: string;
  attempt_id?: string;
  phase: string;
  step: string;
  text: string;
  heartbeat: boolean;
  terminal: boolean;
  status: "queued" | "booting" | "running" | "collecting_artifacts" | "succeeded" | "failed" | "timed_out" | "cancelled";
};

/** A Reason is one ground for refusal: a code that programs read and a sentence that people read. */
export type DeedReason = {
  code: string;
  message: string;
  path?: string;
  check?: string;
};

/** A Report is what happened in a span of time, and what waits for a person at its end. Lists are bounded; More says what was left out. Schema: deed/report/v1 */
export type DeedReport = {
  schema: "deed/report/v1";
  /** included */
  from: string;
  /** not included */
  to: string;
  created_at: string;
  headline: string;
  totals: DeedReportTotals;
  done?: DeedReportTask[];
  failures?: DeedReportFailure[];
  refusals?: DeedReportRefusal[];
  waiting?: DeedReportWaiting[];
  /** the next first */
  retries?: DeedReportRetry[];
  workflows?: DeedReportWorkflow[];
  schedules?: DeedReportSchedule[];
  /** those that fail now */
  sensors?: DeedReportSensor[];
  cost: DeedReportCost;
  /** by list: how many entries it lacks */
  more?: Record<string, number>;
  /** more happened than is read at once: the totals are those of the newest part */
  truncated?: boolean;
};

/** ReportCost is what the attempts that ended in the span used. */
export type DeedReportCost = {
  total: DeedUsageTotals;
  by_model?: DeedUsageTotals[];
  by_profile?: DeedUsageTotals[];
  by_adapter?: DeedUsageTotals[];
};

/** A ReportFailure is why tasks failed for good, by class. */
export type DeedReportFailure = {
  class: string;
  about?: string;
  tasks: number;
  /** the newest ones */
  task_ids?: string[];
  /** of the newest */
  subject?: string;
  last_error?: string;
  /** what to do next about the newest */
  command?: string;
};

/** A ReportRefusal is a ground on which the gate did not accept work. */
export type DeedReportRefusal = {
  code: string;
  attempts: number;
  /** of the newest */
  message?: string;
  /** of the newest */
  task_id?: string;
  command?: string;
};

/** A ReportRetry is a task that failed and is tried again by itself. */
export type DeedReportRetry = {
  task_id: string;
  subject?: string;
  task_type?: string;
  /** not before */
  try_at: string;
  /** used up */
  attempts: number;
  max_attempts: number;
  last_error?: string;
  /** that shows it */
  command?: string;
};

/** A ReportSchedule is a schedule that ran, or did not although it was due. */
export type DeedReportSchedule = {
  name: string;
  ran: number;
  missed: number;
  skipped: number;
};

/** A ReportSensor is a sensor that fails: what it would see makes no work. */
export type DeedReportSensor = {
  sensor_id: string;
  /** in a row */
  failures: number;
  since?: string;
  last_error?: string;
  /** that shows it */
  command?: string;
};

/** A ReportTask is a task that was done, with what proves it. */
export type DeedReportTask = {
  task_id: string;
  attempt_id?: string;
  subject?: string;
  task_type?: string;
  finished_at: string;
  checks_passed?: string[];
  /** what the checks prove; absent before grades were given */
  grade?: "unchecked" | "passing" | "fixed";
  files_changed: number;
  no_op?: boolean;
  bundle_id?: string;
  /** that shows it */
  command?: string;
};

/** ReportTotals are the numbers of a report. */
export type DeedReportTotals = {
  attempts: number;
  /** tasks */
  completed: number;
  /** of the completed that are listed: nothing had to be changed */
  no_op: number;
  failed: number;
  canceled: number;
  /** attempts that the gate did not accept */
  refused: number;
  /** things that a person has to answer */
  waiting: number;
  /** tasks that failed and are tried again by themselves */
  retrying?: number;
  messages_delivered: number;
  /** given up */
  messages_failed: number;
};

/** A ReportWaiting is something that does not go on without a person. */
export type DeedReportWaiting = {
  /** action, held_message, dead_letter, schedule, workflow */
  kind: string;
  id: string;
  about?: string;
  since?: string;
  /** that answers it */
  command: string;
};

/** A ReportWorkflow is a workflow that moved. */
export type DeedReportWorkflow = {
  workflow_id: string;
  workflow_type?: string;
  instance_key?: string;
  /** empty: it was started */
  from?: string;
  to?: string;
  steps: number;
  ending?: string;
  /** why, at the end */
  blocked?: string;
};

/** A Rule says what an agent may do. Within one list the first one that matches counts. Members that are absent match everything; a rule has at most one of path, host and command, since a part of a call is one of them. In tool, host and command `*` is any text, `?` one character, and a backslash takes the next character as it is; tools and hosts are compared without regard to case. In path they are the globs of a workspace: `*` stays within one component, `**` is any number of them. */
export type DeedRule = {
  /** for the evidence; absent: its number */
  name?: string;
  /** globs over the tool's name, and over deed's names for known tools */
  tool?: string[];
  /** globs over a path below the workspace, or an absolute one */
  path?: string[];
  /** globs over a host name or host:port */
  host?: string[];
  /** globs over one simple command; a line is allowed when each of its commands is */
  command?: string[];
  effect: "allow" | "deny" | "ask";
  reason?: string;
};

/** A Sandbox says what a contained agent, and the checks of its work, can reach. Everything that it does not name is out of reach. It has no effect under the isolations none and process, except for its limits and its environment. */
export type DeedSandbox = {
  /** host names with an optional port that may be reached, as api.example.com:443; empty: no network. Checks never get any */
  network?: string[];
  /** files and directories of the machine, read-only */
  mounts?: DeedMount[];
  /** absent: those that the workspace's files call for */
  toolchains?: ("go" | "node" | "php" | "python" | "rust")[];
  /** absent: the defaults of the containment */
  limits?: DeedLimits;
  /** for the agent and the checks; no secrets */
  env?: Record<string, string>;
  /** a deed/runtime-stack/v1: components, plugins, overlays and WordPress itself */
  runtime?: Record<string, unknown>;
  /** the decisions on tools that led to all this; recorded */
  tools?: Record<string, unknown>;
  /** the agent may look and not change */
  read_only_workspace?: boolean;
};

/** A SkillPin names one version of a skill by its content. Admission writes it, so that a task keeps the skill that it was admitted with, whatever becomes of the folder. */
export type DeedSkillPin = {
  skill_id: string;
  version: string;
  /** sha256: and lower-case hex */
  digest: string;
  /** the profile offers it; the task itself did not name it, so its schemas do not bind */
  offered?: boolean;
};

/** A Snapshot is how a home stands at one instant, small enough to keep one for every day and to compare two. Schema: deed/snapshot/v1 */
export type DeedSnapshot = {
  schema: "deed/snapshot/v1";
  captured_at: string;
  versions: DeedSnapshotVersions;
  paused: boolean;
  /** by status */
  tasks: Record<string, number>;
  /** by type, then status */
  tasks_by_type?: Record<string, Record<string, number>>;
  queue: DeedSnapshotQueue;
  open_actions: number;
  /** by state, what was not delivered */
  outbox?: Record<string, number>;
  /** by status */
  workflows?: Record<string, number>;
  live_workflows?: DeedSnapshotWorkflow[];
  schedules?: DeedSnapshotSchedule[];
  sensors?: DeedSnapshotSensor[];
  /** Truncated names the lists above that are cut: the home has more than they hold. */
  truncated?: string[];
  usage: DeedSnapshotUsage;
};

/** A SnapshotQueue is how deep the queue is. */
export type DeedSnapshotQueue = {
  ready: number;
  /** waits for its time */
  later: number;
  /** when the task was queued that is claimed next */
  head_since?: string;
};

/** A SnapshotSchedule is a schedule and its counts. */
export type DeedSnapshotSchedule = {
  name: string;
  enabled: boolean;
  /** why */
  suspended?: string;
  next_run_at?: string;
  runs: number;
  missed: number;
  skipped: number;
};

/** A SnapshotSensor is a sensor and its counts. */
export type DeedSnapshotSensor = {
  sensor_id: string;
  disabled?: boolean;
  accepted: number;
  deduped: number;
  late: number;
  malformed: number;
  /** in a row */
  failures: number;
};

/** SnapshotUsage is what was used. */
export type DeedSnapshotUsage = {
  /** the day of the snapshot in UTC */
  today: DeedUsageTotals;
  total: DeedUsageTotals;
};

/** SnapshotVersions say what wrote the snapshot. */
export type DeedSnapshotVersions = {
  deed: string;
  /** the engine: sqlite or postgres */
  store: string;
};

/** A SnapshotWorkflow is a workflow that has not ended. */
export type DeedSnapshotWorkflow = {
  workflow_id: string;
  workflow_type: string;
  instance_key: string;
  state: string;
  status: string;
};

/** A StateSpec carries deed's own fields of a state of a workflow, in its `deed` object. In subject and description {name} stands for the member of that name in the workflow's context. Schema: deed/workflow.state/v1 */
export type DeedStateSpec = {
  schema?: "deed/workflow.state/v1";
  /** of the state's task */
  subject?: string;
  /** what the agent is asked to do */
  description?: string;
  /** laid over the context, an object */
  payload?: Record<string, unknown>;
  /** 0: as often as the iterations allow */
  max_visits?: number;
  /** the signal of a completed task that gives none that the state knows; absent: that is a failure */
  on_completed?: string;
  /** the signal of a task that failed for good or was cancelled; absent: a person decides */
  on_failure?: string;
};

/** A TaskPolicy narrows what the agent of one task may do. It never widens: its rules are asked besides those of the operator, and the stricter answer counts. */
export type DeedTaskPolicy = {
  /** names of lists under policies: in the operator's deed.yaml */
  use?: string[];
  /** the task's own */
  rules?: DeedRule[];
  /** set by deed: those of the project's deed.yaml */
  project_rules?: DeedRule[];
};

/** A TaskSpec carries deed's own fields of a task, in the intent's `deed` object. It is pinned and hashed at claim. Schema: deed/task.spec/v1 */
export type DeedTaskSpec = {
  schema?: "deed/task.spec/v1";
  /** unique while its task lives, or for the window */
  dedupe_key?: string;
  /** 0: while the task lives */
  dedupe_window_seconds?: number;
  /** 0: the configured default */
  max_attempts?: number;
  /** 0: the adapter's timeout_ms */
  timeout_seconds?: number;
  /** absent: an empty directory */
  workspace?: DeedWorkspace;
  /** globs; empty: the whole workspace */
  write_scope?: string[];
  /** globs that must not change */
  protected_paths?: string[];
  /** globs of files that may hold what looks like a secret */
  allow_secrets?: string[];
  /** run in a clean room, all must pass */
  checks?: DeedCheck[];
  /** an accepted verdict needs at least this grade; absent: the task type decides, then the home */
  require_grade?: "passing" | "fixed";
  /** start the agent although a check cannot be run on the base */
  allow_broken_base?: boolean;
  /** absent: the task type decides */
  require_changes?: boolean;
  /** at least one artifact must be declared */
  require_artifacts?: boolean;
  /** a check must be seen to run tests */
  require_tests?: boolean;
  /** by artifact: a JSON Schema (2020-12) that its JSON must pass */
  artifact_schemas?: Record<string, Record<string, unknown>>;
  /** absent: the task type decides; true: exit 0 with no output is a result */
  accept_empty_output?: boolean;
  /** an adapter.config for this task alone; from trusted callers only */
  adapter?: AdapterConfig;
  /** set by deed: how many follow-up tasks stand between this one and a person */
  depth?: number;
  /** none, process, namespace or container */
  isolation?: "none" | "process" | "namespace" | "container";
  /** names only; values come from the runner's environment */
  secret_env?: string[];
  /** instead of workspace: several directories, each with its target */
  workspaces?: DeedWorkspace[];
  /** what a contained agent can reach */
  sandbox?: DeedSandbox;
  /** disabled: `deed apply` refuses the bundle */
  apply_back?: "disabled" | "reviewed";
  /** how often a refusal is answered in the same conversation; absent: 3 */
  max_recoveries?: number;
  /** 0: as many as the agent takes */
  max_turns?: number;
  /** over all attempts; absent: the configured one */
  budget?: DeedBudget;
  /** narrows what the agent may do */
  policy?: DeedTaskPolicy;
  /** set by deed: the versions that the task was admitted with */
  skills?: DeedSkillPin[];
};

/** A TypeSpec carries deed's own fields of a task type, in its `deed` object. Schema: deed/type.spec/v1 */
export type DeedTypeSpec = {
  schema?: "deed/type.spec/v1";
  /** exit 0 with no output is a result */
  accept_empty_output?: boolean;
  /** the least that accepted work has to prove */
  require_grade?: "passing" | "fixed";
  /** an empty change set is refused */
  require_changes?: boolean;
  max_attempts?: number;
  protected_paths?: string[];
  checks?: DeedCheck[];
  /** by artifact: a JSON Schema (2020-12) that its JSON must pass */
  artifact_schemas?: Record<string, Record<string, unknown>>;
  /** a JSON Schema for payload_schema_id, in place */
  payload_schema?: Record<string, unknown>;
};

/** UsageTotals is what was used, by one key. Money is in millionths of a dollar, the larger of what deed computes and agents tell. */
export type DeedUsageTotals = {
  key?: string;
  attempts: number;
  turns: number;
  input_tokens: number;
  output_tokens: number;
  cost_micro_usd: number;
  unpriced_tokens: number;
  agent_ms: number;
};

/** A Verdict is the gate's decision on one completion attempt, with every reason. Schema: deed/verdict/v1 */
export type DeedVerdict = {
  schema: "deed/verdict/v1";
  accepted: boolean;
  /** accepted, and nothing was changed */
  no_op: boolean;
  /** of an accepted one: what the checks prove; absent before grades were given */
  grade?: "unchecked" | "passing" | "fixed";
  /** what the grade rests on */
  observed?: "tests" | "findings" | "exit_code";
  /** the change edits something that a check judges by */
  inputs_touched?: boolean;
  reasons: DeedReason[];
  /** seen, and not a ground for refusal */
  notes?: DeedReason[];
  checks: DeedCheckResult[];
};

/** A WorkflowSpec carries deed's own fields of a workflow definition, in its `deed` object. Schema: deed/workflow.spec/v1 */
export type DeedWorkflowSpec = {
  schema?: "deed/workflow.spec/v1";
  /** for people */
  description?: string;
  /** 0: no bound of its own; a workflow that can go back needs one */
  max_iterations?: number;
  /** of its tasks; absent: the usual one */
  priority?: number;
};

/** A Workspace says what the agent's directory starts from. deed copies; the source is never written. */
export type DeedWorkspace = {
  /** absent: directory, or git with a ref */
  type?: "directory" | "git" | "bundle" | "empty" | "plugin_scaffold" | "theme_scaffold" | "file";
  /** an absolute directory; a git work tree is taken as it stands, uncommitted work included */
  source?: string;
  /** with a git source: this commit instead of the work tree */
  ref?: string;
  /** with type bundle: the absolute directory of the bundle */
  bundle?: string;
  /** with type bundle: absolute directories of bundles that are applied before it, in their order */
  earlier?: string[];
  /** paths below the source that are left out: exact, a directory, or with a trailing * */
  exclude?: string[];
  /** of a scaffold */
  slug?: string;
  /** of a scaffold, for people */
  name?: string;
  /** the agent may look and not change */
  read_only?: boolean;
  /** recorded only */
  mode?: "repo-backed" | "site-backed";
  /** how much of a repository's history the agent gets: absent or full: what the base commit reaches; none: one commit */
  history?: "full" | "none";
  /** where the agent sees it in a sandbox; absent: /workspace */
  target?: string;
};

export type Drift = {
  component: string;
  since: string;
  production_changes: ProductionChange[];
  drifted_tests: DriftedTest[];
  total_drifted_files: number;
  total_drift_references: number;
  auto_fixable: number;
};

export type DriftedTest = {
  test_file: string;
  line: number;
  content: string;
  change_index: number;
};

/** EvidenceRequirements say what must be shown before the task counts as done. */
export type EvidenceRequirements = {
  required_artifacts?: string[];
  require_file_change_verification?: boolean;
  require_adapter_audit?: boolean;
};

/** An ExternalName is a registered name that was derived from a wallet. */
export type ExternalName = {
  name: string;
  registered_at?: string;
  source: "aibtc-api" | "local-cache";
  /** the address that authored the registration */
  wallet_ref: string;
};

export type FailedTest = {
  name: string;
  detail?: string;
  location?: string;
};

export type Failure = {
  phase: string;
  category: "findings" | "infrastructure";
  mode?: string;
  step?: string;
  summary: string;
  cause?: "missing_tool" | "missing_dependency" | "nothing_loaded" | "no_tests" | "no_report";
  remedy?: string;
};

export type Fault = {
  path: string;
  code: string;
  message: string;
  remedy?: string;
};

export type FixResult = {
  file: string;
  rule: string;
  action?: string;
  primitive?: string;
  confidence?: string;
};

export type FixSummary = {
  fixes_applied: number;
  files_modified: number;
  rules: RuleCount[];
  primitives?: string[];
};

/** A HarnessAutonomy declares the posture of an agent CLI. */
export type HarnessAutonomy = {
  /** restricted or trusted-vm */
  profile: "restricted" | "trusted-vm";
  required_args?: string[];
};

/** A HermesAgentAdapter runs Hermes Agent, a harness like any other. */
export type HermesAgentAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "hermes-agent";
  command: string;
  working_dir?: string;
  timeout_ms: number;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  env_file?: string;
  env?: Record<string, string>;
  model?: string;
  autonomy?: HarnessAutonomy;
  extra_args?: string[];
};

export type Hint = {
  message: string;
};

/** An Adoption says that an attempt goes on from the work of another. */
export type HomeboyAdoption = {
  source_attempt?: string;
  patch_path?: string;
  patch_fingerprint?: string;
  provider_backend?: string;
  provider_model?: string;
  decision?: string;
};

/** An Aggregate is what became of the tasks of a plan. Schema: homeboy/agent-task-aggregate/v1 */
export type HomeboyAggregate = {
  schema: "homeboy/agent-task-aggregate/v1";
  plan_id: string;
  status: "succeeded" | "candidate_recoverable" | "partial_recoverable" | "partial_failure" | "failed" | "cancelled";
  totals: HomeboyTotals;
  outcomes: HomeboyOutcome[];
  events?: HomeboyTaskEvent[];
  artifact_lineage?: unknown[];
  child_runs?: unknown[];
  artifact_bindings?: unknown[];
  queue?: HomeboyQueue;
};

/** ApplyBack says how what a provider changed comes back. */
export type HomeboyApplyBack = {
  mutation_artifacts?: string | string[];
  requires_git_checkout?: boolean;
  strategy?: string;
};

/** An Artifact is one file, or one address, that a task left. */
export type HomeboyArtifact = {
  schema?: "homeboy/agent-task-artifact/v1";
  id: string;
  kind: string;
  name?: string;
  label?: string;
  role?: string;
  semantic_key?: string;
  /** relative to the working directory, or absolute */
  path?: string;
  url?: string;
  mime?: string;
  /** a claim; the host measures */
  size_bytes?: number;
  /** a claim; the host hashes */
  sha256?: string;
  metadata?: unknown;
};

/** An ArtifactDeclaration is a file that a task is to make. */
export type HomeboyArtifactDeclaration = {
  schema?: "homeboy/agent-task-artifact-declaration/v1";
  name: string;
  type?: string;
  artifact_schema?: string;
  /** below the workspace */
  path?: string;
  required?: boolean;
  description?: string;
  metadata?: unknown;
};

/** An ArtifactDiscovery says where to look for artifacts of a run that was ended. */
export type HomeboyArtifactDiscovery = {
  paths?: string[];
  metadata_path_keys?: string[];
  config_path_keys?: string[];
  artifact_patterns?: HomeboyArtifactPattern[];
};

/** An ArtifactPattern recognises an artifact by its file name. */
export type HomeboyArtifactPattern = {
  id?: string;
  kind: string;
  filename_patterns?: string | string[];
  filename_contains?: string | string[];
  extensions?: string | string[];
  mime?: string;
  metadata?: unknown;
};

/** ArtifactsProvenance says whose the directory for artifacts is. */
export type HomeboyArtifactsProvenance = {
  owner?: string;
  locality?: string;
  plan_id?: string;
  run_id?: string;
  task_id?: string;
  attempt?: number;
};

/** A CapabilityProbe is a command that shows what a tool can do. */
export type HomeboyCapabilityProbe = {
  argv: string[];
};

/** A CommandInvocation is a command as an argv, run without a shell. */
export type HomeboyCommandInvocation = {
  schema?: string;
  argv?: string[];
  /** with Args, another way to write Argv */
  command?: string;
  args?: string[];
  cwd?: string;
  env?: HomeboyInvocationEnv[];
  env_allowlist?: string[];
  display?: string;
  redaction?: HomeboyInvocationRedaction;
  stdin?: string;
  stdout?: string;
  stderr?: string;
};

/** A CommandPolicy says which commands may run. An empty one constrains nothing. */
export type HomeboyCommandPolicy = {
  schema?: "homeboy/agent-command-policy/v1";
  mode?: "deny_list" | "allow_list";
  deny?: HomeboyCommandRule[];
  allow?: HomeboyCommandRule[];
  reason?: string;
};

/** A CommandRule matches a command by its words: * within one word, ** over several. */
export type HomeboyCommandRule = {
  pattern: string;
  reason?: string;
};

/** A ContractProducer declares a script that makes documents of a package. */
export type HomeboyContractProducer = {
  id?: string;
  phase?: string;
  invocation?: unknown;
  produces?: HomeboyProducedContent[];
};

/** A Dependency is something that a source root needs. */
export type HomeboyDependency = {
  id?: string;
  label?: string;
  source_root?: string;
  requirement?: unknown;
};

/** A DependencyPattern recognises a dependency that is not there. */
export type HomeboyDependencyPattern = {
  id?: string;
  label?: string;
  path_contains?: string | string[];
  error_contains_any?: string | string[];
  remediation?: string;
};

/** A Diagnostic is one thing that a provider or the host has to say about a run. */
export type HomeboyDiagnostic = {
  class: string;
  message: string;
  data?: unknown;
};

/** An EnvPath is a variable that must hold a path that exists. */
export type HomeboyEnvPath = {
  env?: string | string[];
  revision?: string;
  canonical_path?: string;
};

/** An EvidenceRef points at something that shows what happened. */
export type HomeboyEvidenceRef = {
  schema?: "homeboy/agent-task-evidence-ref/v1";
  kind: string;
  uri: string;
  label?: string;
};

/** An EvidenceRelationship ties an output to the evidence that it must come with. */
export type HomeboyEvidenceRelationship = {
  relationship: string;
  evidence: HomeboyEvidenceRef;
};

/** An ExecutableRequirement names a program: the first variable of Env that is set holds its path, else the first of Candidates on the PATH counts. */
export type HomeboyExecutableRequirement = {
  id?: string;
  label?: string;
  env?: string | string[];
  candidates?: string | string[];
  version_command?: string | string[];
  install_hint?: string;
};

/** An Executor says who runs a task. There is no default backend. */
export type HomeboyExecutor = {
  backend: string;
  /** the id of a provider */
  selector?: string;
  /** the id of a package; never an object */
  runtime?: string;
  runtime_selection?: HomeboyRuntimeSelection;
  required_capabilities?: string[];
  /** names, never values */
  secret_env?: string[];
  model?: string;
  /** always an object: command-line executors demand it */
  config: Record<string, unknown>;
};

/** An ExecutorProvider declares one provider command of a package, and what may be relied on. Schema: homeboy/agent-task-executor-provider/v1 */
export type HomeboyExecutorProvider = {
  schema?: "homeboy/agent-task-executor-provider/v1";
  id: string;
  label?: string;
  backend: string;
  /** run by a shell after interpolation */
  command?: string;
  /** run without a shell; wins over Command */
  command_argv?: string[];
  /** wins over both */
  invocation?: HomeboyCommandInvocation;
  readiness_invocation?: HomeboyCommandInvocation;
  runtime?: string;
  runtime_id?: string;
  request_schema?: "homeboy/agent-task-request/v1";
  outcome_schema?: "homeboy/agent-task-outcome/v1";
  request_required_fields?: string[];
  outcome_statuses?: string[];
  failure_classifications?: string[];
  redacted_metadata_keys?: string[];
  capabilities?: string[];
  runner_readiness?: HomeboyReadinessCheck[];
  role_aliases?: HomeboyRoleAliases;
  workspace_materialization?: HomeboyWorkspaceMaterialization;
  secret_requirements?: HomeboySecretRequirement[];
  secret_env_requirements?: HomeboySecretEnvRequirement[];
  /** by AI provider, not by backend */
  provider_defaults?: Record<string, HomeboyProviderDefault>;
  diagnostics?: HomeboyProviderDiagnostics;
  status?: string;
  integration_contract?: string;
  /** read, and never used to select */
  default_backend?: boolean;
  runtime_execution_contracts?: Record<string, HomeboyRuntimeExecutionContract>;
  tool_presets?: string[];
  workspace_tools?: HomeboyWorkspaceTools;
  publication_tools?: string[];
  lifecycle?: HomeboyProviderLifecycle;
  artifact_contract?: Record<string, string[]>;
  provider_preflight?: unknown;
  immediate_failure_patterns?: HomeboyFailurePattern[];
  dependency_failure_patterns?: HomeboyDependencyPattern[];
  timeout_artifact_discovery?: HomeboyArtifactDiscovery;
  runtime_contract?: unknown;
  result_contract?: unknown;
};

/** A FailurePattern recognises a failure of a provider's service in what the provider said. */
export type HomeboyFailurePattern = {
  id?: string;
  error_contains_any?: string | string[];
  retryable?: boolean;
  error_ref_pattern?: string;
  log_lookup?: unknown;
  fallback_action?: unknown;
};

/** A FanoutConfig says how items become tasks, and how what comes back is read. Schema: homeboy/generic-fanout-reconcile-config/v1 */
export type HomeboyFanoutConfig = {
  schema: "homeboy/generic-fanout-reconcile-config/v1";
  orchestrator?: Record<string, unknown>;
  items?: unknown[];
  /** used in place of items when it is not empty */
  groups?: HomeboyFanoutGroup[];
  group_key_path?: string;
  task_request_template?: Record<string, unknown>;
  runtime_execution?: Record<string, unknown>;
  plan_schema?: string;
  result_schema?: string;
  reconciliation_schema?: string;
  summary?: Record<string, unknown>;
  base_run?: Record<string, unknown>;
  /** absent is true */
  include_summary?: boolean;
  success_statuses?: string[];
  outcome_path?: string;
  concurrency?: number;
};

/** A FanoutGroup is a group that a configuration names. */
export type HomeboyFanoutGroup = {
  key: string;
  items?: unknown[];
};

/** A FanoutPlan is the tasks of a fanout, before anything runs. Schema: homeboy/fanout-reconcile-plan/v1 */
export type HomeboyFanoutPlan = {
  schema: "homeboy/fanout-reconcile-plan/v1";
  orchestrator: Record<string, unknown>;
  summary?: Record<string, unknown>;
  groups: HomeboyPlannedGroup[];
  task_requests: HomeboyFanoutTask[];
  reconciliation?: HomeboyFanoutReconciliation;
};

/** A FanoutProgress is told when a task of a fanout starts and ends. Schema: homeboy/fanout-reconcile-progress/v1 */
export type HomeboyFanoutProgress = {
  schema: "homeboy/fanout-reconcile-progress/v1";
  status: "started" | "completed" | "failed" | "missing_record";
  id: string;
  group_key?: string;
  /** the first is 1 */
  group_index: number;
  group_count: number;
  outcome_kind?: string;
};

/** A FanoutReconciliation counts a fanout. Schema: homeboy/generic-fanout-reconcile-reconciliation/v1 */
export type HomeboyFanoutReconciliation = {
  schema: "homeboy/generic-fanout-reconcile-reconciliation/v1";
  group_count: number;
  task_count: number;
  record_count: number;
  success_count: number;
  failure_count: number;
  outcome_count: number;
  failed_task_ids: string[];
  /** What the counts above do not tell apart, or leave out. */
  missing_count?: number;
  unknown_record_count?: number;
  duplicate_record_count?: number;
};

/** A FanoutRecord is what came back for one task. */
export type HomeboyFanoutRecord = {
  id?: string;
  task_id?: string;
  group_key?: string;
  status: "completed" | "failed" | "missing_record";
  success?: boolean;
  outcome?: unknown;
  error_message?: string;
};

/** A FanoutResult is made of a plan and of records that were collected elsewhere. Records that belong to no task, and further records of one task, count for nothing and are reported. Schema: homeboy/generic-fanout-reconcile-result/v1 */
export type HomeboyFanoutResult = {
  schema: "homeboy/generic-fanout-reconcile-result/v1";
  plan_schema?: string;
  orchestrator?: Record<string, unknown>;
  summary?: Record<string, unknown>;
  status: "incomplete" | "completed" | "failed";
  records: HomeboyFanoutRecord[];
  unknown_records?: unknown[];
  duplicate_records?: unknown[];
  outcomes: unknown[];
  reconciliation?: HomeboyFanoutReconciliation;
};

/** A FanoutRun is a fanout while it runs and when it is over, with a record for each task, in the order of the plan. Schema: homeboy/fanout-reconcile-run/v1 */
export type HomeboyFanoutRun = {
  schema: "homeboy/fanout-reconcile-run/v1";
  plan_schema?: string;
  orchestrator?: Record<string, unknown>;
  summary?: Record<string, unknown>;
  status: "incomplete" | "completed" | "failed";
  /** the first that runs, or null */
  current_group?: unknown;
  current_groups?: unknown[];
  records: HomeboyFanoutRecord[];
  outcomes: unknown[];
  reconciliation?: HomeboyFanoutReconciliation;
};

/** A FanoutTask is one task of a plan. What the template rendered beside these members is in Extra. */
export type HomeboyFanoutTask = {
  id?: string;
  task_id?: string;
  group_key?: string;
  orchestrator?: Record<string, unknown>;
  runtime_execution?: Record<string, unknown>;
};

/** A FindingFanoutConfig is a FanoutConfig whose items are the findings of packets. Schema: homeboy/generic-finding-packet-fanout-config/v1 */
export type HomeboyFindingFanoutConfig = {
  schema: "homeboy/generic-finding-packet-fanout-config/v1";
  packets: Record<string, unknown>[];
  finding_policy?: HomeboyFindingPolicy;
  orchestrator?: Record<string, unknown>;
  task_request_template?: Record<string, unknown>;
  runtime_execution?: Record<string, unknown>;
  plan_schema?: string;
  result_schema?: string;
  reconciliation_schema?: string;
  summary?: Record<string, unknown>;
  base_run?: Record<string, unknown>;
  include_summary?: boolean;
  success_statuses?: string[];
  outcome_path?: string;
  concurrency?: number;
};

/** A FindingPolicy says where in a packet its findings are and how they are grouped. Paths are dotted. */
export type HomeboyFindingPolicy = {
  /** absent: id */
  packet_id_path?: string;
  /** absent: findings */
  findings_path?: string;
  /** absent: id */
  finding_id_path?: string;
  /** absent: DefaultGroupBy */
  group_by?: string | string[];
  /** wins over GroupBy */
  group_key_template?: string;
  /** absent: default */
  fallback_group_key?: string;
  /** absent is true */
  include_packet?: boolean;
};

/** A FollowUp is something that should be done next, by somebody. */
export type HomeboyFollowUp = {
  kind: string;
  title: string;
  body?: string;
  uri?: string;
};

/** An InvocationEnv is one variable of an invocation. */
export type HomeboyInvocationEnv = {
  name: string;
  source?: string;
  value?: string;
  required?: boolean;
  redacted?: boolean;
};

/** An InvocationRedaction says what of an invocation is never shown. */
export type HomeboyInvocationRedaction = {
  argv_indices?: number[];
  env?: string[];
  replacement?: string;
};

/** Limits bound an attempt. Zero is not set; a zero that was written is a fault. */
export type HomeboyLimits = {
  timeout_ms?: number;
  max_runtime_ms?: number;
  execution_deadline_unix_ms?: number;
  liveness_timeout_ms?: number;
  max_output_bytes?: number;
  exclusive_resource_keys?: string[];
  /** older; counts only without a limit in ms */
  task_timeout_seconds?: number;
};

/** A Materialization says what a host prepares before any provider of the package can run. */
export type HomeboyMaterialization = {
  source_roots?: HomeboySourceRoot[];
  runtime_sources?: unknown;
  preparation?: unknown;
  dependencies?: HomeboyDependency[];
  executable_requirements?: HomeboyExecutableRequirement[];
  readiness_checks?: HomeboyReadinessCheck[];
  diagnostics?: unknown;
  env_passthrough?: string[];
  workspace?: HomeboyWorkspaceMaterialization;
};

/** A MatrixAggregate is what became of a matrix: every cell in the order of the plan, and the one that was chosen. It succeeded when one was. Schema: homeboy/agent-task-matrix-aggregate/v1 */
export type HomeboyMatrixAggregate = {
  schema: "homeboy/agent-task-matrix-aggregate/v1";
  plan_id: string;
  status: "succeeded" | "candidate_recoverable" | "partial_recoverable" | "partial_failure" | "failed" | "cancelled";
  /** the id of a cell */
  chosen?: string;
  why: string;
  cells: HomeboyMatrixResult[];
};

/** A MatrixCell is one combination, as a whole request. Its id is the task_id of the request. */
export type HomeboyMatrixCell = {
  id: string;
  axes: Record<string, unknown>;
  request: HomeboyRequest;
};

/** A MatrixPlan is one task, once for each combination of the values of its axes. At most one of the results is used. Schema: homeboy/agent-task-matrix-plan/v1 */
export type HomeboyMatrixPlan = {
  schema: "homeboy/agent-task-matrix-plan/v1";
  plan_id: string;
  axes: Record<string, unknown[]>;
  /** the request that the cells share */
  task: Record<string, unknown>;
  cells: HomeboyMatrixCell[];
};

/** A MatrixResult is what became of one cell. */
export type HomeboyMatrixResult = {
  id: string;
  axes: Record<string, unknown>;
  verdict: "accepted" | "refused" | "not_judged" | "missing_record";
  chosen: boolean;
  /** why it was chosen or not */
  why?: string;
  outcome?: HomeboyOutcome;
};

/** An Outcome is what a provider command writes to its standard output: how the task ended, as the provider sees it. Schema: homeboy/agent-task-outcome/v1 */
export type HomeboyOutcome = {
  schema: "homeboy/agent-task-outcome/v1";
  task_id: string;
  status: "succeeded" | "no_op" | "unable_to_remediate" | "provider_error" | "timeout" | "candidate_recoverable" | "failed" | "follow_up_issue" | "cancelled";
  summary?: string;
  failure_classification?: "provider" | "transient" | "timeout" | "stalled" | "rate_limited" | "provider_account_blocked" | "provider_quota_exhausted" | "provider_billing_blocked" | "provider_credentials_exhausted" | "policy_denied" | "capability_missing" | "invalid_input" | "execution_failed" | "unknown";
  failure_code?: string;
  failure_category?: string;
  /** a provider's opinion; absent: none */
  retryable?: boolean;
  artifacts?: HomeboyArtifact[];
  typed_artifacts?: HomeboyTypedArtifact[];
  evidence_refs?: HomeboyEvidenceRef[];
  diagnostics?: HomeboyDiagnostic[];
  outputs?: Record<string, unknown>;
  workflow?: HomeboyWorkflow;
  follow_up?: HomeboyFollowUp;
  metadata?: unknown;
};

/** An OutputDeclaration is a structured result that a task is to return under outputs. */
export type HomeboyOutputDeclaration = {
  name: string;
  required?: boolean;
  /** of the output, not of this record */
  schema: string;
  structural_schema?: Record<string, unknown>;
  max_bytes?: number;
  evidence_relationship?: HomeboyEvidenceRelationship;
};

/** A PlannedGroup is one group of a plan. */
export type HomeboyPlannedGroup = {
  key: string;
  index: number;
  item_count: number;
};

/** A Policy says what a task may read, write and have applied. */
export type HomeboyPolicy = {
  read?: string;
  write?: string;
  apply?: string;
  tools?: HomeboyToolPolicy;
};

/** A ProducedContent is one document that a contract producer makes. */
export type HomeboyProducedContent = {
  kind?: string;
  name?: string;
  schema?: string;
};

/** A PromotionBase is what the change stands on. */
export type HomeboyPromotionBase = {
  commit: string;
  /** the commit that the agent began with, as the bundle says */
  recorded?: string;
};

/** A PromotionCandidate is the patch that was chosen, and what vouches for it. */
export type HomeboyPromotionCandidate = {
  /** the bundle's id */
  bundle: string;
  task_id?: string;
  attempt_id?: string;
  verdict?: string;
  /** whose signature counts */
  key_id?: string;
  /** of the patch */
  sha256: string;
  size_bytes: number;
  files: string[];
};

/** A PromotionCheck is one check before the apply. */
export type HomeboyPromotionCheck = {
  check: string;
  status: "passed" | "failed" | "skipped";
  detail?: string;
};

/** A PromotionGate is one command that had to pass on the change. */
export type HomeboyPromotionGate = {
  id: string;
  visibility: "visible" | "private";
  /** of a visible one */
  command?: string;
  status: "succeeded" | "failed" | "skipped" | "accepted_inherited_failure";
  /** of one that ran */
  termination?: "completed" | "cancelled" | "timed_out" | "no_progress";
  /** a check of the bundle, run again */
  recorded?: boolean;
  exit_code?: number;
  /** the last 64 KiB of its output */
  tail?: string;
  bytes: number;
  /** of all its output */
  sha256?: string;
  progress?: string;
  duration_ms: number;
};

/** A PromotionPush is where the branch was sent. */
export type HomeboyPromotionPush = {
  /** without credentials */
  remote: string;
  ref: string;
  commit: string;
};

/** A PromotionReport is what came of taking a verified result to a branch. Schema: homeboy/agent-task-promotion-report/v1 */
export type HomeboyPromotionReport = {
  schema: "homeboy/agent-task-promotion-report/v1";
  status: "dry_run" | "verification_pending" | "applied" | "gate_failed" | "verified_no_changes" | "no_changes_gate_failed" | "no_changes";
  candidate: HomeboyPromotionCandidate;
  base: HomeboyPromotionBase;
  repository?: string;
  branch: string;
  /** of the branch, when it has the change */
  commit?: string;
  /** the branch had this change before; nothing was written */
  reused?: boolean;
  preflight: HomeboyPromotionCheck[];
  gates: HomeboyPromotionGate[];
  verifier?: HomeboyPromotionVerifier;
  push?: HomeboyPromotionPush;
  /** of the line in the audit log */
  audit_reference?: string;
};

/** A PromotionVerifier is the answer of an external verifier. */
export type HomeboyPromotionVerifier = {
  accepted: boolean;
  reason?: string;
  termination: "completed" | "cancelled" | "timed_out" | "overflow" | "malformed" | "failed";
  duration_ms: number;
};

/** A ProviderDefault is what a package chooses for one AI provider when the request does not. */
export type HomeboyProviderDefault = {
  model?: string;
  command?: string;
  command_args?: string[];
  secret_env?: string | string[];
  required_secret_env?: string | string[];
  optional_secret_env?: string | string[];
  secret_env_sources?: Record<string, HomeboySecretSource>;
};

/** ProviderDiagnostics says what a provider writes or returns beside its status. */
export type HomeboyProviderDiagnostics = {
  outcome_fields?: string[];
  artifact_kinds?: string[];
};

/** A ProviderLifecycle says how a provider ends. */
export type HomeboyProviderLifecycle = {
  completion?: string;
  cancellation?: string;
  max_concurrency_default?: number;
};

/** A Queue says how a plan was scheduled. */
export type HomeboyQueue = {
  max_concurrency: number;
  adaptive_concurrency?: unknown;
  max_tasks?: number;
  max_queue_depth?: number;
  queued: number;
  running: number;
  blocked: number;
  completed: number;
  per_executor_concurrency?: Record<string, number>;
};

/** A ReadinessCheck is one thing that must be there before a provider can be dispatched. */
export type HomeboyReadinessCheck = {
  id?: string;
  label?: string;
  executable?: HomeboyExecutableRequirement;
  env_path?: HomeboyEnvPath;
  secret_env?: string | string[];
  invocation?: HomeboyCommandInvocation;
  required_extensions?: string[];
  remediation?: string;
};

/** A Request is what a provider command reads from its standard input: one task, who runs it, on what and within which limits. The members behind Metadata are filled in by the host. Schema: homeboy/agent-task-request/v1 */
export type HomeboyRequest = {
  schema: "homeboy/agent-task-request/v1";
  task_id: string;
  group_key?: string;
  parent_plan_id?: string;
  executor: HomeboyExecutor;
  instructions: string;
  inputs?: unknown;
  source_refs?: HomeboySourceRef[];
  workspace?: HomeboyWorkspace;
  /** opaque objects */
  component_contracts?: Record<string, unknown>[];
  policy?: HomeboyPolicy;
  limits?: HomeboyLimits;
  /** the older form: each is a required declaration */
  expected_artifacts?: string[];
  artifact_declarations?: HomeboyArtifactDeclaration[];
  output_declarations?: HomeboyOutputDeclaration[];
  runtime_tools?: HomeboyRuntimeTool[];
  metadata?: unknown;
  artifacts_path?: string;
  artifacts_path_provenance?: HomeboyArtifactsProvenance;
  resolved_runtime_tools?: HomeboyResolvedRuntimeTool[];
};

/** A ResolvedRuntimeTool is what the host made of a RuntimeTool. */
export type HomeboyResolvedRuntimeTool = {
  schema?: "homeboy/resolved-agent-task-runtime-tool/v1";
  id: string;
  transport?: string;
  executable?: string;
  argv?: string[];
  env?: Record<string, string>;
  version?: string;
  capabilities?: string[];
  capability_probe?: HomeboyCapabilityProbe;
  env_names?: string[];
  secret_env_names?: string[];
  readiness?: HomeboyResolvedState;
  lifecycle?: string;
};

/** A ResolvedState says whether a tool works, and how that was found out. */
export type HomeboyResolvedState = {
  status?: string;
  evidence?: HomeboyToolReadyMark;
};

/** RoleAliases map what a provider calls things to generic roles. Kinds may hold a * that stands for any text. */
export type HomeboyRoleAliases = {
  artifact_kinds?: Record<string, string | string[]>;
  artifact_filenames?: Record<string, string | string[]>;
  artifact_roles?: Record<string, string | string[]>;
  outputs?: Record<string, string | string[]>;
  metadata?: Record<string, string | string[]>;
};

/** A RunnerSpec says who runs the tasks of a caller and within which limits, before there is a task. It has no default backend. Schema: homeboy/agent-task-runner-spec/v1 */
export type HomeboyRunnerSpec = {
  schema: "homeboy/agent-task-runner-spec/v1";
  executor: HomeboyExecutor;
  limits?: HomeboyLimits;
  expected_artifacts?: string[];
  artifact_declarations?: HomeboyArtifactDeclaration[];
};

/** A RuntimeCommandRequest asks a runtime package to carry out one of its own commands, by a stable id. What comes back is an Outcome. Schema: homeboy/runtime-command-request/v1 */
export type HomeboyRuntimeCommandRequest = {
  schema: "homeboy/runtime-command-request/v1";
  task_id: string;
  runtime_package: HomeboyRuntimePackageRef;
  recipe?: HomeboyRuntimeRecipe;
  command_id: string;
  /** an object or a list; no shell sees it */
  args?: unknown;
  /** variables that the runtime may read; the host resolves their values */
  env_names?: string[];
  workspace?: HomeboyWorkspace;
  limits?: HomeboyLimits;
  /** what it is to make */
  artifacts?: HomeboyArtifactDeclaration[];
  metadata?: unknown;
};

/** A RuntimeExecutionContract maps a generic kind of execution to the field of a runtime profile that names the ability, and to the capabilities that this needs. */
export type HomeboyRuntimeExecutionContract = {
  ability_field: string;
  required_capabilities?: string[];
};

/** A RuntimeManifest is the `<id>.json` of a runtime package. In an installed package the name of its directory counts in place of ID. Schema: homeboy/agent-runtime-manifest/v1 */
export type HomeboyRuntimeManifest = {
  schema: "homeboy/agent-runtime-manifest/v1";
  id: string;
  name?: string;
  label?: string;
  version?: string;
  description?: string;
  agent_task_executors: HomeboyExecutorProvider[];
  contract_producers?: HomeboyContractProducer[];
  minimum_version?: string;
  requires?: Record<string, string>;
  compatibility?: unknown;
  external_storage_retention?: unknown;
  ci_materialization?: unknown;
  materialization?: HomeboyMaterialization;
};

/** A RuntimePackageRef names the package that owns a command. */
export type HomeboyRuntimePackageRef = {
  id: string;
  /** the revision that it must be at */
  ref?: string;
  /** the version that its manifest must have */
  version?: string;
};

/** A RuntimeRecipe says from what the runtime is made. */
export type HomeboyRuntimeRecipe = {
  pack?: string;
  name?: string;
  path?: string;
  ref?: string;
};

/** A RuntimeSelection says which runtime, provider and model were asked for. */
export type HomeboyRuntimeSelection = {
  runtime_id?: string;
  executor_backend?: string;
  executor_provider_id?: string;
  ai_provider_id?: string;
  model?: string;
  substrate_ref?: string;
};

/** A RuntimeTool is a process that a provider attaches to its agent. */
export type HomeboyRuntimeTool = {
  schema?: "homeboy/agent-task-runtime-tool/v1";
  id: string;
  transport?: "stdio";
  command: string[];
  env?: Record<string, string>;
  secret_env?: string[];
  required_capabilities?: string[];
  timeout_ms?: number;
  readiness?: HomeboyToolReadiness;
  lifecycle?: "runtime_owned";
};

/** A SecretCondition is one test of a request, or several. No condition always holds. */
export type HomeboySecretCondition = {
  any?: HomeboySecretCondition[];
  all?: HomeboySecretCondition[];
  /** dotted; the bare path provider is executor.config.provider */
  path?: string;
  /** absent: the path must exist */
  equals?: unknown;
};

/** A SecretEnvRequirement is a group of secret names that is needed when its condition holds for a request. */
export type HomeboySecretEnvRequirement = {
  schema?: string;
  id?: string;
  source?: string;
  env?: string | string[];
  when?: HomeboySecretCondition;
  required?: boolean;
  purpose?: string;
  secret_env_sources?: Record<string, HomeboySecretSource>;
};

/** A SecretRequirement names a secret that a provider may need, by Name or by Env. */
export type HomeboySecretRequirement = {
  name?: string;
  env?: string | string[];
  /** absent is true */
  required?: boolean;
  purpose?: string;
  when?: unknown;
};

/** A SecretSource says where the value of one variable comes from. */
export type HomeboySecretSource = {
  source?: string;
  env_var?: string;
  name?: string;
  path?: string;
  field?: string;
  fallback_fields?: string[];
  /** a default that is no secret */
  value?: string;
  scope?: string;
};

/** A SourceRef points at where a task came from. */
export type HomeboySourceRef = {
  kind: string;
  uri: string;
  revision?: string;
};

/** A SourceRoot is a source tree that a package stands on. */
export type HomeboySourceRoot = {
  id?: string;
  label?: string;
  path?: string;
  remote_url?: string;
  git_ref?: string;
  remediation?: string;
};

/** A TaskEvent is one change of state of a task of a plan. */
export type HomeboyTaskEvent = {
  task_id: string;
  state: string;
  attempt: number;
  message?: string;
};

/** A ToolPolicy says which tools an agent has, and where they run. */
export type HomeboyToolPolicy = {
  schema?: "homeboy/agent-tool-policy/v1";
  default_location?: "disabled" | "runner" | "control_plane";
  tools?: Record<string, HomeboyToolRule>;
  commands?: HomeboyCommandPolicy;
};

/** A ToolReadiness says how a host finds out whether a tool works. */
export type HomeboyToolReadiness = {
  command_prefix?: string | string[];
  version_command?: string[];
  capability_probe?: HomeboyCapabilityProbe;
};

/** A ToolReadyMark is the evidence that a tool works: version_command, protocol or declared_probe. */
export type HomeboyToolReadyMark = {
  kind?: string;
  success?: boolean;
};

/** A ToolRule is the policy for one tool. */
export type HomeboyToolRule = {
  execution_location?: "disabled" | "runner" | "control_plane";
  timeout_ms?: number;
  reason?: string;
};

/** Totals counts the tasks of a plan. Each is in one of the counts; RecoverableCandidates repeats CandidateRecoverable under its older name. */
export type HomeboyTotals = {
  queued: number;
  running: number;
  blocked: number;
  skipped: number;
  /** no_op included */
  succeeded: number;
  candidate_recoverable: number;
  recoverable_candidates: number;
  failed: number;
  cancelled: number;
  timed_out: number;
};

/** A TypedArtifact is an artifact whose content is in the outcome itself. */
export type HomeboyTypedArtifact = {
  name: string;
  type?: string;
  artifact_schema?: string;
  payload?: unknown;
  artifact?: unknown;
  metadata?: unknown;
};

/** A Workflow tells the steps that a provider took. */
export type HomeboyWorkflow = {
  schema?: "homeboy/agent-task-workflow/v1";
  id: string;
  label?: string;
  steps?: HomeboyWorkflowStep[];
  metadata?: unknown;
};

/** A WorkflowStep is one step of a workflow. */
export type HomeboyWorkflowStep = {
  id: string;
  label?: string;
  status: "pending" | "running" | "succeeded" | "failed" | "skipped" | "cancelled";
  depends_on?: string[];
  started_at?: string;
  finished_at?: string;
  duration_ms?: number;
  metrics?: unknown;
  artifact_refs?: string[];
  diagnostics?: HomeboyDiagnostic[];
  suggestions?: HomeboyFollowUp[];
  metadata?: unknown;
};

/** A Workspace says where a task works. */
export type HomeboyWorkspace = {
  kind?: string;
  mode?: "ephemeral" | "existing" | "materialized";
  /** becomes the working directory */
  root?: string;
  slug?: string;
  component_id?: string;
  branch?: string;
  base_ref?: string;
  task_url?: string;
  cleanup?: string;
  attempt?: HomeboyWorkspaceAttempt;
  materialization?: unknown;
};

/** A WorkspaceAttempt identifies the workspace of one attempt. The host fills it in. */
export type HomeboyWorkspaceAttempt = {
  identity?: string;
  base_ref?: string;
  base_fingerprint?: string;
  adoption?: HomeboyAdoption;
};

/** A WorkspaceMaterialization says what a provider expects of its workspace before it starts. */
export type HomeboyWorkspaceMaterialization = {
  cwd?: string;
  requires_git?: boolean;
  write_scope?: string;
  artifact_paths?: string[];
  spec?: unknown;
  mounts?: HomeboyWorkspaceMount[];
  apply_back?: HomeboyApplyBack;
};

/** A WorkspaceMount is a further tree that a provider sees. */
export type HomeboyWorkspaceMount = {
  handle?: string;
  repo?: string;
  host_path?: string;
  target_path?: string;
  mode?: string;
  materialization?: unknown;
  metadata?: unknown;
};

/** WorkspaceTools names the tools that a provider offers its agent. */
export type HomeboyWorkspaceTools = {
  readonly?: string[];
  readwrite?: string[];
};

export type HookCommand = {
  command: string;
  success: boolean;
  stdout: string;
  stderr: string;
  exit_code: number;
};

export type HookResult = {
  event: string;
  commands: HookCommand[];
  all_succeeded: boolean;
};

/** A JournalEvent is one entry of the journal. Schema: agent-runtime/journal.event/v1 */
export type JournalEvent = {
  schema?: "agent-runtime/journal.event/v1";
  seq: number;
  at: string;
  kind: string;
  /** an object */
  detail?: Record<string, unknown>;
};

export type LintFinding = {
  id?: string;
  message: string;
  category?: string;
  tool?: string;
  rule?: string;
  file?: string;
  line?: number;
  column?: number;
  severity?: string;
  fixable?: boolean;
  fingerprint?: string;
  known?: boolean;
};

export type Missing = {
  kind: "tool" | "dependency";
  name: string;
  remedy?: string;
};

/** A NativeAdapter runs deed's own agent: no program but deed and a model. */
export type NativeAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "native";
  provider: NativeProvider;
  model: string;
  timeout_ms: number;
  /** the model's window; absent: what is known of the model */
  context_tokens?: number;
  /** of one answer; absent: what is known of the model */
  max_output_tokens?: number;
  tools?: ("read" | "list" | "search" | "edit" | "write" | "shell" | "apply_patch" | "todo" | "task_complete" | "ask" | "delegate")[];
  subagents?: NativeSubagents;
  /** the share of the window at which the conversation is shortened */
  compact_at?: number;
  env_file?: string;
  env?: Record<string, string>;
};

/** A NativeProvider says where the model of deed's own agent is. */
export type NativeProvider = {
  api: "anthropic" | "openai-responses" | "openai-chat" | "ollama";
  /** absent: the provider's own */
  base_url?: string;
  /** the variable that holds the key; absent: the provider's own */
  key_env?: string;
};

/** NativeSubagents bounds what deed's own agent may delegate. A zero leaves that bound to deed. */
export type NativeSubagents = {
  max_depth?: number;
  /** in the whole attempt */
  max_count?: number;
  /** of each */
  max_turns?: number;
};

/** An OllamaGenerateAdapter asks an Ollama endpoint. */
export type OllamaGenerateAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "ollama-generate";
  endpoint: string;
  model: string;
  timeout_ms: number;
};

/** An OnchainIdentity is an entry in an ERC-8004-compatible contract. */
export type OnchainIdentity = {
  /** the contract's principal */
  contract: string;
  token_id?: string;
  /** the contract method that reads reputation */
  reputation_ref?: string;
};

/** An OpencodeAdapter runs the opencode CLI. */
export type OpencodeAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "opencode";
  command: string;
  working_dir?: string;
  timeout_ms: number;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  env_file?: string;
  env?: Record<string, string>;
  model?: string;
  provider?: OpencodeProvider;
  autonomy?: HarnessAutonomy;
  extra_args?: string[];
};

/** An OpencodeProvider selects the model provider of opencode. */
export type OpencodeProvider = {
  /** what stands before the slash in opencode's name of a model */
  id: string;
  name?: string;
  base_url?: string;
  /** absent: chat */
  api?: "chat" | "responses" | "anthropic";
  /** the variable that holds the key */
  key_env?: string;
};

/** A PackagedAdapter runs a provider of a runtime package: one request on its standard input, one outcome on its standard output. Which provider that is follows from its backend, which has no default. */
export type PackagedAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "packaged";
  backend: string;
  /** the provider's id, where several serve the backend */
  selector?: string;
  /** the package's id; absent: any that serves the backend */
  runtime?: string;
  /** packages, or directories of them, besides those of the home and of the project */
  runtime_dirs?: string[];
  model?: string;
  /** executor.config of the request, an object */
  config?: Record<string, unknown>;
  required_capabilities?: string[];
  /** names of secrets that the provider gets */
  secret_env?: string[];
  /** what its model needs, as api.example.com:443 */
  hosts?: string[];
  timeout_ms: number;
  env_file?: string;
  env?: Record<string, string>;
};

export type Phase = {
  phase: string;
  status: string;
  exit_code: number | null;
  summary: string;
};

/** A PolicyDecision is one answer of the policy, with the rule and the reason for it. Schema: agent-runtime/policy.decision/v1 */
export type PolicyDecision = {
  schema?: "agent-runtime/policy.decision/v1";
  id: string;
  boundary: "tool" | "stop";
  turn?: number;
  callId?: string;
  tool?: string;
  /** the path, host or command that was decided on */
  subject?: string;
  effect: "allow" | "deny" | "ask";
  /** a rule, a hook, or default */
  rule: string;
  reason?: string;
  /** who answered, where a person was asked */
  by?: string;
  actionId?: string;
  held?: "enforced" | "declared";
  at?: string;
};

export type ProductionChange = {
  change_type: string;
  file: string;
  old_symbol: string;
  new_symbol?: string;
  line: number;
};

/** A ProposedWorkflow asks for a workflow to be created or woken. */
export type ProposedWorkflow = {
  template: string;
  instance_key: string;
  state?: string;
  context?: Record<string, unknown>;
};

export type RawOutput = {
  stdout_tail: string;
  stderr_tail: string;
  truncated: boolean;
};

/** A RecoveryAttempt is a turn that answers a rejection: the reasons go back into the same conversation. Schema: agent-runtime/recovery.attempt/v1 */
export type RecoveryAttempt = {
  schema?: "agent-runtime/recovery.attempt/v1";
  id: string;
  /** the one that was rejected */
  completionAttemptId: string;
  number: number;
  limit: number;
  reasons: string[];
  /** false: the agent could not go on with it and began anew */
  sameConversation: boolean;
  at?: string;
};

/** A RecurringScheduleRecord enqueues a normal task at every interval. It decides when work should exist and never runs any. Missed slots become one task. Schema: agent-runtime/schedule.record/v1 */
export type RecurringScheduleRecord = {
  schema?: "agent-runtime/schedule.record/v1";
  schedule_id: string;
  name: string;
  enabled: boolean;
  interval_seconds: number;
  next_run_at: string;
  last_run_at: string | null;
  task: TaskIntent;
  created_at: string;
  updated_at: string;
};

/** A RelativeSchedule delays a task from the moment it is taken in. */
export type RelativeSchedule = {
  delay_minutes: number;
};

/** Schema: deed/check.report/v1 */
export type Report = {
  schema: "deed/check.report/v1";
  capability: "lint" | "test" | "build";
  component: string;
  component_path?: string;
  extension?: string;
  extension_digest?: string;
  passed: boolean;
  status: "passed" | "failed" | "error" | "skipped" | "not-run";
  exit_code: number;
  runner_exit_code: number | null;
  duration_ms: number;
  phase: Phase;
  phases?: Phase[];
  failure?: Failure;
  missing?: Missing[];
  lint_findings?: LintFinding[];
  annotations?: Annotation[];
  test_counts?: TestResults;
  test_cases?: TestCase[];
  failed_tests?: FailedTest[];
  test_failures?: TestFailure[];
  test_scope?: TestScope;
  coverage?: CoverageView;
  analysis?: Analysis;
  drift?: Drift;
  build?: BuildView;
  baseline_comparison?: BaselineComparison;
  autofix?: Autofix;
  summary?: Summary;
  hooks?: HookResult[];
  steps?: string[];
  warnings?: string[];
  hints?: Hint[];
  raw_output?: RawOutput;
  log?: string;
  cached?: boolean;
};

/** A RequiredAction is something that a person must decide before the work can go on. Schema: agent-runtime/required.action/v1 */
export type RequiredAction = {
  schema?: "agent-runtime/required.action/v1";
  id: string;
  /** permission, question, budget, or another word */
  kind: string;
  /** what is asked */
  prompt: string;
  /** why it is asked */
  why?: string;
  /** the rule that asks */
  rule?: string;
  /** the tool call, the budget, … */
  subject?: Record<string, unknown>;
  /** an answer holds for this context alone */
  contextDigest?: string;
  /** absent: none */
  deadline?: string;
  /** what the deadline decides: deny */
  default?: string;
  /** absent: any operator */
  mayAnswer?: string[];
  /** absent: open */
  state?: "open" | "answered" | "dismissed";
  answer?: Record<string, unknown>;
  answeredBy?: string;
  openedAt?: string;
  closedAt?: string;
};

/** A ResultPolicy says which side effects an outcome may ask for. */
export type ResultPolicy = {
  allow_follow_up_tasks: boolean;
  allow_external_messages: boolean;
};

export type RuleCount = {
  rule: string;
  count: number;
};

/** A RuntimeEventRecord is one event with its place in the order, its time and what it was about. Schema: agent-runtime/runtime.event/v1 */
export type RuntimeEventRecord = {
  schema?: "agent-runtime/runtime.event/v1";
  /** grows within one store */
  seq?: number;
  event: "task_enqueued" | "task_claimed" | "bundle_compiled" | "task_retry_scheduled" | "task_attempt_finished" | "task_started" | "task_finished" | "schedule_upserted" | "schedule_task_created" | "sensor_event_recorded" | "sensor_event_deduped" | "sensor_task_created" | "sensor_workflow_created" | "sensor_workflow_deduped" | "workflow_transitioned" | "workflow_completed" | "workflow_task_created" | "dispatch_idle" | "dispatch_locked" | "boot_sweep_reclaimed" | "dispatch_lock_stale_cleared" | (string & {});
  task_id?: string;
  attempt_id?: string;
  at: string;
  detail?: Record<string, unknown>;
};

/** A RuntimeTask is a task as the runtime sees it while an agent works on it and afterwards: what can be known of it without its transcript. The first five members are those of the narrow runtime contract; the others are deed's own. Schema: agent-runtime/runtime.task/v1 */
export type RuntimeTask = {
  schema?: "agent-runtime/runtime.task/v1";
  id: string;
  goal: string;
  state: "idle" | "running" | "streaming" | "waiting_for_permission" | "waiting_for_input" | "compacting" | "resumable" | "completed" | "failed_terminal";
  openRequirements: RequiredAction[];
  journal: JournalEvent[];
  attemptId?: string;
  states?: AgentStateChange[];
  turns?: Turn[];
  toolCalls?: ToolCall[];
  toolResults?: ToolResult[];
  completionAttempts?: CompletionAttempt[];
  recoveryAttempts?: RecoveryAttempt[];
  closedRequirements?: RequiredAction[];
  compactions?: ContextCompaction[];
  subagents?: SubagentRun[];
  decisions?: PolicyDecision[];
  /** of the whole attempt */
  usage?: Usage;
  budgets?: Budget[];
};

/** A ScriptAdapter runs a command, for deterministic work that needs no model. */
export type ScriptAdapter = {
  schema?: "agent-runtime/adapter.config/v1";
  adapter_id: string;
  kind: "script";
  command: string;
  working_dir?: string;
  timeout_ms: number;
  env_file?: string;
  env?: Record<string, string>;
  autonomy?: ScriptAutonomy;
  extra_args?: string[];
};

/** ScriptAutonomy declares the posture of a script adapter. */
export type ScriptAutonomy = {
  /** runtime-native */
  profile: "runtime-native";
};

/** A SensorEvent is what a sensor saw, with the work that it proposes. Its dedupe key is the sensor's own and stable. Schema: agent-runtime/sensor.event/v1 */
export type SensorEvent = {
  schema?: "agent-runtime/sensor.event/v1";
  sensor_id: string;
  event_id: string;
  observed_at: string;
  source_ref: string;
  dedupe_key: string;
  /** the event is stale from here on */
  freshness_deadline?: string;
  payload: Record<string, unknown>;
  proposed_task?: TaskIntent;
  proposed_workflow?: ProposedWorkflow;
};

/** A SkillManifest is an operational capability with assets that can be found: instructions, commands, a sensor. Paths are relative to the manifest's directory. Schema: agent-runtime/skill.manifest/v1 */
export type SkillManifest = {
  schema?: "agent-runtime/skill.manifest/v1";
  skill_id: string;
  description: string;
  tags?: string[];
  /** SKILL.md */
  instruction_path: string;
  /** AGENT.md */
  subagent_path?: string;
  cli_commands?: CLICommand[];
  sensor_path?: string;
  input_schema_id?: string;
  output_schema_id?: string;
};

/** A SubagentProfile says what a pair of agent and skill can do: adapter, skills, prompt framing and result policies. It carries no identity and no constitution of its own; those are inherited when the brief is compiled. Schema: agent-runtime/agent.profile/v1 */
export type SubagentProfile = {
  schema?: "agent-runtime/agent.profile/v1";
  profile_id: string;
  style: "claude-like" | "codex-like" | "hermes-like";
  /** the operational role, not an identity */
  role: string;
  default_adapter_id: string;
  default_model?: string;
  /** operational framing, not the content of SOUL.md */
  prompt_parts: string[];
  skill_ids: string[];
  context_policy: ContextPolicy;
  result_policy: ResultPolicy;
  /** by service */
  integration_policy?: Record<string, string>;
};

/** A SubagentRun is work that an agent delegated, within bounds that it drew from its own. Schema: agent-runtime/subagent.run/v1 */
export type SubagentRun = {
  schema?: "agent-runtime/subagent.run/v1";
  id: string;
  /** absent: the attempt's own agent */
  parentId?: string;
  /** the tool call that made it */
  callId?: string;
  goal: string;
  depth: number;
  tools?: string[];
  maxTurns?: number;
  state: "running" | "completed" | "failed" | "cancelled";
  summary?: string;
  turns?: number;
  usage?: Usage;
  /** its own journal, in the evidence */
  journalRef?: string;
  startedAt?: string;
  endedAt?: string;
};

/** A SuccessPolicy adds evidence requirements to every task of a type. */
export type SuccessPolicy = {
  require_artifacts?: boolean;
  require_adapter_audit?: boolean;
  verify_claimed_file_changes?: boolean;
};

export type Summary = {
  total_findings?: number;
  categories?: Record<string, number>;
  top_findings?: LintFinding[];
  total?: number;
  passed?: number;
  failed?: number;
  skipped?: number;
  failures?: FailedTest[];
  exit_code: number;
};

/** A TaskAttempt is the evidence of one execution. Its paths are relative to the attempt's bundle. Schema: agent-runtime/task.attempt/v1 */
export type TaskAttempt = {
  schema?: "agent-runtime/task.attempt/v1";
  attempt_id: string;
  task_id: string;
  adapter_id: string;
  adapter_kind: string;
  model: string | null;
  runner_id: string;
  started_at: string;
  ended_at: string | null;
  exit_status: "ok" | "error" | "timeout";
  retry_class: "none" | "retryable" | "permanent";
  prompt_path?: string;
  stdout_path?: string;
  stderr_path?: string;
  result_path?: string;
  last_message_path?: string;
  diagnostics?: Record<string, unknown>;
};

/** A TaskIntent is the portable unit of work that operators, sensors, schedules and workflows create. Schema: agent-runtime/task.intent/v1 */
export type TaskIntent = {
  schema?: "agent-runtime/task.intent/v1";
  task_type: string;
  source: string;
  subject?: string;
  description?: string;
  /** any integer, higher first; never chooses a model */
  priority?: number;
  requested_profile_id?: string;
  requested_adapter_id?: string;
  requested_model?: string;
  skill_ids?: string[];
  workflow_ref?: WorkflowRef;
  schedule?: RelativeSchedule;
  available_at?: string;
  /** a JSON object, kept as it was written */
  payload: Record<string, unknown>;
  evidence_requirements?: EvidenceRequirements;
  /** deed's own fields */
  deed?: DeedTaskSpec;
};

/** A TaskOutcome is the canonical result after normalisation. Only the gate makes one that says completed. Schema: agent-runtime/task.outcome/v1 */
export type TaskOutcome = {
  schema?: "agent-runtime/task.outcome/v1";
  status: "completed" | "retryable_failure" | "permanent_failure" | "blocked" | "operator_canceled";
  machine_status: "ok" | "needs_retry" | "blocked" | "failed" | "canceled";
  operator_summary: string;
  raw_output?: string;
  file_changes?: string[];
  artifact_paths?: string[];
  workflow_signal?: string;
  follow_up_tasks?: TaskIntent[];
  external_messages?: Record<string, unknown>[];
};

/** A TaskRecord is engine state, never author input. Schema: agent-runtime/task.record/v1 */
export type TaskRecord = {
  schema?: "agent-runtime/task.record/v1";
  task_id: string;
  task_type: string;
  source: string;
  subject: string | null;
  description: string | null;
  priority: number;
  payload: Record<string, unknown>;
  requested_profile_id: string;
  requested_adapter_id: string | null;
  requested_model: string | null;
  status: "pending" | "running" | "completed" | "retryable_failure" | "permanent_failure" | "blocked" | "operator_canceled";
  max_attempts: number;
  attempt_count: number;
  available_at: string;
  created_at: string;
  updated_at: string;
  started_at: string | null;
  finished_at: string | null;
  outcome: TaskOutcome | null;
  last_error: string | null;
};

/** A TaskTypeSpec is a task type as data: what its tasks carry, who runs them and what counts as success. Schema: agent-runtime/task.type/v1 */
export type TaskTypeSpec = {
  schema?: "agent-runtime/task.type/v1";
  task_type: string;
  payload_schema_id: string;
  default_profile_id?: string;
  default_adapter_id?: string;
  default_model?: string;
  allowed_skill_ids?: string[];
  artifact_roles?: ("plan" | "execute-report" | "verify-report" | "output" | "snapshot" | "adapter-audit")[];
  success_policy?: SuccessPolicy;
  /** deed's own fields */
  deed?: DeedTypeSpec;
};

export type TestCase = {
  suite?: string;
  name: string;
  status: "passed" | "failed" | "skipped";
  file?: string;
  line?: number;
  duration_ms?: number;
  message?: string;
  type?: string;
};

export type TestFailure = {
  test_name?: string;
  test_file?: string;
  error_type?: string;
  message?: string;
  source_file?: string;
  source_line?: number;
};

export type TestResults = {
  total: number;
  passed: number;
  failed: number;
  skipped: number;
  partial?: string;
};

export type TestScope = {
  mode: string;
  changed_since: string;
  selected_count: number;
  selected_files: string[];
};

/** A ToolCall is what an agent wants done. Schema: agent-runtime/tool.call/v1 */
export type ToolCall = {
  schema?: "agent-runtime/tool.call/v1";
  callId: string;
  /** the index of its turn */
  turn?: number;
  subagentId?: string;
  /** as the agent names it */
  tool: string;
  /** an object; left out beyond a bound: see inputDigest */
  input?: Record<string, unknown>;
  inputDigest?: string;
  at?: string;
};

/** A ToolResult is what a tool call gave. A failure stays in the task's state until the runtime or a policy calls it terminal. Schema: agent-runtime/tool.result/v1 */
export type ToolResult = {
  schema?: "agent-runtime/tool.result/v1";
  callId: string;
  status: "success" | "failure";
  /** what the agent was given, cut beyond a bound */
  output?: string;
  errorType?: string;
  retryable?: boolean;
  /** the runtime or a policy ended the task for it */
  terminal?: boolean;
  /** of the whole output */
  outputBytes?: number;
  /** where the whole is, in the evidence */
  outputRef?: string;
  outputDigest?: string;
  durationMs?: number;
  at?: string;
};

/** A Turn is one answer of a model with the tool calls that it asked for. Schema: agent-runtime/turn/v1 */
export type Turn = {
  schema?: "agent-runtime/turn/v1";
  id: string;
  /** within the attempt */
  index: number;
  subagentId?: string;
  startedAt?: string;
  endedAt?: string;
  /** the one that answered */
  model?: string;
  /** in the words of whoever stopped */
  stopReason?: string;
  toolCalls?: number;
  usage?: Usage;
};

/** Usage is what a stretch of work cost. Input tokens include those that were read from a cache or written to one. Schema: agent-runtime/usage/v1 */
export type Usage = {
  schema?: "agent-runtime/usage/v1";
  model?: string;
  inputTokens: number;
  /** of these, read from a cache */
  cachedInputTokens?: number;
  /** of these, written to a cache */
  cacheWriteTokens?: number;
  outputTokens: number;
  /** of the output tokens */
  reasoningTokens?: number;
  /** as the agent tells it; absent: it says nothing */
  costMicroUsd?: number;
};

/** Schema: deed/check.verification/v1 */
export type Verification = {
  schema: "deed/check.verification/v1";
  component: string;
  component_path?: string;
  passed: boolean;
  status: "passed" | "failed" | "error" | "skipped" | "not-run";
  exit_code: number;
  duration_ms: number;
  phases: VerifiedPhase[];
};

export type VerifiedPhase = {
  phase: "syntax" | "lint" | "typecheck" | "audit" | "test" | "build";
  status: "passed" | "failed" | "error" | "skipped" | "not-run";
  exit_code: number | null;
  summary: string;
  duration_ms: number;
  report?: Report;
  audit?: AuditReport;
};

export type VersionFound = {
  file: string;
  version?: string;
  fault?: string;
};

/** A WalletIdentity attaches one address on one chain to an agent, as data. Schema: agent-runtime/wallet.identity/v1 */
export type WalletIdentity = {
  schema?: "agent-runtime/wallet.identity/v1";
  agent_id: string;
  /** stacks, bitcoin, ethereum and so on */
  chain: string;
  /** mainnet, testnet or devnet */
  network?: string;
  address: string;
  public_key?: string;
  /** a BNS or similar name */
  name?: string;
  /** sign, heartbeat, message, claim, publish */
  capabilities?: string[];
  /** must equal the agent's onchain_identity.contract */
  onchain_identity_contract?: string;
  reputation_ref?: string;
  metadata?: Record<string, unknown>;
};

/** A WorkflowDefinition is the logic of a workflow as data. Schema: agent-runtime/workflow.definition/v1 */
export type WorkflowDefinition = {
  schema?: "agent-runtime/workflow.definition/v1";
  workflow_type: string;
  initial_state: string;
  states: WorkflowState[];
  /** deed's own fields */
  deed?: DeedWorkflowSpec;
};

/** A WorkflowRecord is one running workflow. It moves by recorded signals only. Schema: agent-runtime/workflow.record/v1 */
export type WorkflowRecord = {
  schema?: "agent-runtime/workflow.record/v1";
  workflow_id: string;
  workflow_type: string;
  instance_key: string;
  current_state: string;
  context: Record<string, unknown> | null;
  status: "active" | "completed" | "blocked";
  created_at: string;
  updated_at: string;
  completed_at: string | null;
};

/** A WorkflowRef ties a task to the workflow state that asked for it. */
export type WorkflowRef = {
  workflow_id: string;
  state_id: string;
  instance_key: string;
};

/** A WorkflowState is one state: the task it asks for, and the signals that lead on or end it. */
export type WorkflowState = {
  state_id: string;
  task_type?: string;
  default_profile_id?: string;
  default_skill_ids?: string[];
  transitions?: WorkflowTransition[];
  completion_signals?: string[];
  emits_task_intent?: boolean;
  /** deed's own fields */
  deed?: DeedStateSpec;
};

/** A WorkflowTransition leads from a state to the next one on a signal. */
export type WorkflowTransition = {
  signal: string;
  next_state: string;
};

/** The record of every schema id. */
export type Records = {
  "agent-runtime/adapter.config/v1": AdapterConfig;
  "agent-runtime/agent.constitution/v1": AgentConstitution;
  "agent-runtime/agent.identity/v1": AgentIdentity;
  "agent-runtime/agent.profile/v1": SubagentProfile;
  "agent-runtime/agent.state/v1": AgentStateChange;
  "agent-runtime/artifact.record/v1": ArtifactRecord;
  "agent-runtime/completion.attempt/v1": CompletionAttempt;
  "agent-runtime/completion.decision/v1": CompletionDecision;
  "agent-runtime/context.compaction/v1": ContextCompaction;
  "agent-runtime/journal.event/v1": JournalEvent;
  "agent-runtime/policy.decision/v1": PolicyDecision;
  "agent-runtime/recovery.attempt/v1": RecoveryAttempt;
  "agent-runtime/required.action/v1": RequiredAction;
  "agent-runtime/runtime.event/v1": RuntimeEventRecord;
  "agent-runtime/runtime.task/v1": RuntimeTask;
  "agent-runtime/schedule.record/v1": RecurringScheduleRecord;
  "agent-runtime/sensor.event/v1": SensorEvent;
  "agent-runtime/skill.manifest/v1": SkillManifest;
  "agent-runtime/subagent.run/v1": SubagentRun;
  "agent-runtime/task.attempt/v1": TaskAttempt;
  "agent-runtime/task.intent/v1": TaskIntent;
  "agent-runtime/task.outcome/v1": TaskOutcome;
  "agent-runtime/task.record/v1": TaskRecord;
  "agent-runtime/task.type/v1": TaskTypeSpec;
  "agent-runtime/tool.call/v1": ToolCall;
  "agent-runtime/tool.result/v1": ToolResult;
  "agent-runtime/turn/v1": Turn;
  "agent-runtime/usage/v1": Usage;
  "agent-runtime/wallet.identity/v1": WalletIdentity;
  "agent-runtime/workflow.definition/v1": WorkflowDefinition;
  "agent-runtime/workflow.record/v1": WorkflowRecord;
  "deed/abilities/v1": DeedAbilities;
  "deed/adapter-audit/v1": DeedAdapterAudit;
  "deed/audit.report/v1": AuditReport;
  "deed/check.report/v1": Report;
  "deed/check.verification/v1": Verification;
  "deed/config/v1": DeedConfig;
  "deed/conform.report/v1": DeedConformReport;
  "deed/error/v1": DeedError;
  "deed/notification/v1": DeedNotification;
  "deed/outbox.message/v1": DeedMessage;
  "deed/payload.goal/v1": DeedGoalPayload;
  "deed/progress/v1": DeedProgress;
  "deed/report/v1": DeedReport;
  "deed/runtime-stack/v1": CodeboxRuntimeStack;
  "deed/snapshot/v1": DeedSnapshot;
  "deed/task.spec/v1": DeedTaskSpec;
  "deed/type.spec/v1": DeedTypeSpec;
  "deed/verdict/v1": DeedVerdict;
  "deed/workflow.spec/v1": DeedWorkflowSpec;
  "deed/workflow.state/v1": DeedStateSpec;
  "homeboy/agent-runtime-manifest/v1": HomeboyRuntimeManifest;
  "homeboy/agent-task-aggregate/v1": HomeboyAggregate;
  "homeboy/agent-task-executor-provider/v1": HomeboyExecutorProvider;
  "homeboy/agent-task-matrix-aggregate/v1": HomeboyMatrixAggregate;
  "homeboy/agent-task-matrix-plan/v1": HomeboyMatrixPlan;
  "homeboy/agent-task-outcome/v1": HomeboyOutcome;
  "homeboy/agent-task-promotion-report/v1": HomeboyPromotionReport;
  "homeboy/agent-task-request/v1": HomeboyRequest;
  "homeboy/agent-task-runner-spec/v1": HomeboyRunnerSpec;
  "homeboy/fanout-reconcile-plan/v1": HomeboyFanoutPlan;
  "homeboy/fanout-reconcile-progress/v1": HomeboyFanoutProgress;
  "homeboy/fanout-reconcile-run/v1": HomeboyFanoutRun;
  "homeboy/generic-fanout-reconcile-config/v1": HomeboyFanoutConfig;
  "homeboy/generic-fanout-reconcile-reconciliation/v1": HomeboyFanoutReconciliation;
  "homeboy/generic-fanout-reconcile-result/v1": HomeboyFanoutResult;
  "homeboy/generic-finding-packet-fanout-config/v1": HomeboyFindingFanoutConfig;
  "homeboy/runtime-command-request/v1": HomeboyRuntimeCommandRequest;
  "wp-codebox/agent-result/v1": CodeboxAgentResult;
  "wp-codebox/agent-task-result/v1": CodeboxAgentTaskResult;
  "wp-codebox/agent-task-run-failure-evidence/v1": CodeboxFailureEvidence;
  "wp-codebox/agent-task-run-request/v1": CodeboxRequest;
  "wp-codebox/agent-task-run-result/v1": CodeboxAgentTaskRunResult;
  "wp-codebox/agent-task-run/v1": CodeboxAgentTaskRun;
  "wp-codebox/agent-terminal-result/v1": CodeboxTerminalResult;
  "wp-codebox/agent-transcript/v1": CodeboxAgentTranscript;
  "wp-codebox/apply-audit/v1": CodeboxApplyAudit;
  "wp-codebox/apply-result/v1": CodeboxApplyResult;
  "wp-codebox/artifact-apply/v1": CodeboxArtifactApply;
  "wp-codebox/artifact-bundle-apply-preflight/v1": CodeboxApplyPreflight;
  "wp-codebox/artifact-bundle-verification/v1": CodeboxBundleVerification;
  "wp-codebox/artifact-manifest/v1": CodeboxManifest;
  "wp-codebox/artifact-metadata/v1": CodeboxMetadata;
  "wp-codebox/artifact-redaction/v1": CodeboxRedactionSummary;
  "wp-codebox/artifact-review/v1": CodeboxReview;
  "wp-codebox/changed-files/v1": CodeboxChangedFiles;
  "wp-codebox/cli-failure/v1": CodeboxCLIFailure;
  "wp-codebox/component-contract-result/v1": CodeboxComponentContractResult;
  "wp-codebox/evidence-artifact-envelope/v1": CodeboxEvidenceEnvelope;
  "wp-codebox/generic-ability-runtime-run-request/v1": CodeboxAbilityRunRequest;
  "wp-codebox/generic-ability-runtime-run-result/v1": CodeboxAbilityRunResult;
  "wp-codebox/pending-apply-preview/v1": CodeboxPendingApplyPreview;
  "wp-codebox/provider-runtime-invocation-contract/v1": CodeboxProviderRuntimeContract;
  "wp-codebox/recipe-phase-evidence/v1": CodeboxRunPhaseEvidence;
  "wp-codebox/run-cancellation-request/v1": CodeboxRunCancellationRequest;
  "wp-codebox/run-lifecycle/v1": CodeboxRunLifecycle;
  "wp-codebox/run-registry-entry/v1": CodeboxRunRegistryEntry;
  "wp-codebox/run-resource-evidence/v1": CodeboxRunResourceEvidence;
  "wp-codebox/runner-workspace-capture-request/v1": CodeboxCaptureRequest;
  "wp-codebox/runner-workspace-capture-result/v1": CodeboxCaptureResult;
  "wp-codebox/runner-workspace-command-request/v1": CodeboxCommandRequest;
  "wp-codebox/runner-workspace-command-result/v1": CodeboxCommandResult;
  "wp-codebox/runner-workspace-publication-request/v1": CodeboxPublicationRequest;
  "wp-codebox/runner-workspace-publication-result/v1": CodeboxPublicationResult;
  "wp-codebox/runtime-reference-manifest/v1": CodeboxRuntimeReferenceManifest;
  "wp-codebox/sandbox-completion-outcome/v1": CodeboxCompletionOutcome;
  "wp-codebox/sandbox-session/v1": CodeboxSandboxSession;
  "wp-codebox/sandbox-tool-policy/v1": CodeboxSandboxToolPolicy;
  "wp-codebox/structured-artifact/v1": CodeboxStructuredArtifact;
  "wp-codebox/task-input/v1": CodeboxTaskInput;
  "wp-codebox/test-results/v1": CodeboxTestResults;
  "wp-codebox/tool-call-transcript/v1": CodeboxToolCallTranscript;
};
