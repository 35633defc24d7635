package cli

import (
	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/runner"
)

// A groupedCommand is one of deed's commands, and the group that the help lists it in.
type groupedCommand struct {
	group string
	*cobra.Command
}

// commands are all of deed's commands but help and completion.
func (a *app) commands() []groupedCommand {
	return []groupedCommand{
		{"work", a.runCmd()},
		{"work", a.agentTaskRunCmd()},
		{"work", a.abilityRunCmd()},
		{"work", a.fanoutCmd()},
		{"work", a.demoCmd()},

		{"check", a.checkCmd(runner.Lint)},
		{"check", a.checkCmd(runner.Test)},
		{"check", a.checkCmd(runner.Build)},
		{"check", a.extensionCmd()},
		{"check", a.auditCmd()},
		{"check", a.checkAllCmd()},
		{"check", a.refactorCmd()},

		{"queue", a.taskCmd()},
		{"queue", a.workflowCmd()},
		{"queue", a.sensorCmd()},
		{"queue", a.actionCmd()},
		{"queue", a.outboxCmd()},
		{"queue", a.scheduleCmd()},
		{"queue", a.agentCmd()},
		{"queue", a.walletCmd()},
		{"queue", a.skillCmd()},
		{"queue", a.policyCmd()},
		{"queue", a.dispatchCmd()},
		{"queue", a.serveCmd()},
		{"queue", a.topCmd()},
		{"queue", a.watchCmd()},
		{"queue", a.mcpCmd()},
		{"queue", a.pauseCmd()},
		{"queue", a.resumeCmd()},
		{"queue", a.reportCmd()},
		{"queue", a.snapshotCmd()},
		{"queue", a.usageCmd()},
		{"queue", a.runsCmd()},
		{"queue", a.cleanupCmd()},
		{"queue", a.cyclesCmd()},

		{"evidence", a.attemptCmd()},
		{"evidence", a.briefCmd()},
		{"evidence", a.verifyCmd()},
		{"evidence", a.applyCmd()},
		{"evidence", a.promoteCmd()},
		{"evidence", a.artifactsCmd()},
		{"evidence", a.workspaceCmd()},
		{"evidence", a.keyCmd()},
		{"evidence", a.schemaCmd()},
		{"evidence", a.contractCmd()},

		{"setup", a.initCmd()},
		{"setup", a.doctorCmd()},
		{"setup", a.serviceCmd()},
		{"setup", a.reloadCmd()},
		{"setup", a.openCmd()},
		{"setup", a.tokenCmd()},
		{"setup", a.accessCmd()},
		{"setup", a.runtimeCmd()},
		{"setup", a.conformCmd()},
		{"setup", a.versionCmd()},
		{"setup", a.devCmd()},
		{"setup", a.helperCmd()},
		{"setup", a.providerCmd()},
	}
}
