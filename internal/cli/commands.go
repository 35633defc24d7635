package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
)

// A commandSource makes one of deed's commands. Its names are told here too, so that the command is found without being made.
type commandSource struct {
	group string
	names string // the name and its aliases
	make  func() *cobra.Command
}

// commands are all of deed's commands but help and completion.
func (a *app) commands() []commandSource {
	check := func(capability string) func() *cobra.Command {
		return func() *cobra.Command { return a.checkCmd(capability) }
	}
	return []commandSource{
		{"work", "run", a.runCmd},
		{"work", "agent-task-run run-agent-task", a.agentTaskRunCmd},
		{"work", "generic-ability-runtime-run ability-run", a.abilityRunCmd},
		{"work", "fanout", a.fanoutCmd},
		{"work", "demo", a.demoCmd},

		{"check", "lint", check(runner.Lint)},
		{"check", "test", check(runner.Test)},
		{"check", "build", check(runner.Build)},
		{"check", "extension", a.extensionCmd},
		{"check", "audit", a.auditCmd},
		{"check", "check", a.checkAllCmd},
		{"check", "refactor", a.refactorCmd},

		{"queue", "task", a.taskCmd},
		{"queue", "workflow", a.workflowCmd},
		{"queue", "sensor", a.sensorCmd},
		{"queue", "action", a.actionCmd},
		{"queue", "outbox", a.outboxCmd},
		{"queue", "schedule", a.scheduleCmd},
		{"queue", "agent", a.agentCmd},
		{"queue", "wallet", a.walletCmd},
		{"queue", "skill", a.skillCmd},
		{"queue", "policy", a.policyCmd},
		{"queue", "dispatch", a.dispatchCmd},
		{"queue", "serve", a.serveCmd},
		{"queue", "top", a.topCmd},
		{"queue", "watch", a.watchCmd},
		{"queue", "mcp", a.mcpCmd},
		{"queue", "pause", a.pauseCmd},
		{"queue", "resume", a.resumeCmd},
		{"queue", "report", a.reportCmd},
		{"queue", "snapshot", a.snapshotCmd},
		{"queue", "usage", a.usageCmd},
		{"queue", "runs", a.runsCmd},
		{"queue", "cleanup", a.cleanupCmd},
		{"queue", "cycles", a.cyclesCmd},

		{"evidence", "attempt", a.attemptCmd},
		{"evidence", "brief", a.briefCmd},
		{"evidence", "verify", a.verifyCmd},
		{"evidence", "apply", a.applyCmd},
		{"evidence", "promote", a.promoteCmd},
		{"evidence", "artifacts", a.artifactsCmd},
		{"evidence", "workspace", a.workspaceCmd},
		{"evidence", "key", a.keyCmd},
		{"evidence", "schema", a.schemaCmd},
		{"evidence", "contract", a.contractCmd},

		{"setup", "init", a.initCmd},
		{"setup", "doctor", a.doctorCmd},
		{"setup", "service", a.serviceCmd},
		{"setup", "reload", a.reloadCmd},
		{"setup", "open", a.openCmd},
		{"setup", "token", a.tokenCmd},
		{"setup", "access", a.accessCmd},
		{"setup", "runtime", a.runtimeCmd},
		{"setup", "conform", a.conformCmd},
		{"setup", "version", a.versionCmd},
		{"setup", "dev", a.devCmd},
		{"setup", "helper", a.helperCmd},
		{"setup", "provider", a.providerCmd},
	}
}

// commandsFor are the commands that a command line can come to: the one that its first word names, else all. To make all of them
// takes a tenth of the start of the binary.
func (a *app) commandsFor(args []string) []commandSource {
	all := a.commands()
	if len(args) == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(s commandSource) bool { return slices.Contains(strings.Fields(s.names), args[0]) })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}
