package systemd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// Name is the name of the unit.
const Name = "deed.service"

// mark is the first line of every unit that deed writes: what does not begin with it is somebody else's and stays.
const mark = "# Written by `deed service install`. `deed service uninstall` removes it."

// Ours reports whether a unit was written by deed.
func Ours(unit string) bool { return strings.HasPrefix(unit, mark+"\n") }

// A Unit is what a unit is made of.
type Unit struct {
	Exe         string // absolute path of deed
	Home        string // absolute
	User        bool   // for the manager of one user, not of the machine
	As          string // the account, of a unit of the machine; "": the manager's own
	Path        string // where agents and tools are found
	Secrets     string // absolute path of a file with secrets; it may be missing
	Concurrency int    // 0: deed's default
}

// Validate returns every fault of the unit.
func (u Unit) Validate() error {
	var l fault.List
	for _, f := range [][2]string{{"exe", u.Exe}, {"home", u.Home}, {"secrets", u.Secrets}} {
		if !filepath.IsAbs(f[1]) {
			l.Add("$."+f[0], fault.BadFormat, fmt.Sprintf("%q is not an absolute path", f[1]), "give it from / on")
		}
	}
	for _, f := range [][2]string{{"exe", u.Exe}, {"home", u.Home}, {"secrets", u.Secrets}, {"path", u.Path}, {"as", u.As}} {
		if strings.ContainsFunc(f[1], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			l.Add("$."+f[0], fault.BadFormat, fmt.Sprintf("%q holds a control character", f[1]), "a unit cannot hold it: use another name")
		}
	}
	if strings.ContainsAny(u.Exe, "\"'\\$*?[") {
		l.Add("$.exe", fault.BadFormat, fmt.Sprintf("%q holds a character that systemd refuses in a program's name", u.Exe), "install deed under a plain path")
	}
	if u.User && u.As != "" {
		l.Add("$.as", fault.Conflict, fmt.Sprintf("%q: a unit of a user runs as that user", u.As), "leave out one of --user and --as")
	}
	if strings.ContainsAny(u.As, " \t%\"'\\") {
		l.Add("$.as", fault.BadFormat, fmt.Sprintf("%q is no name of an account", u.As), "give the account's login name")
	}
	return l.Err()
}

// text makes a value of a setting: specifiers are not expanded, blanks and quotes stay.
func text(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}

// plain is a value of a setting that takes no quotes.
func plain(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// String is the unit as systemd reads it. The unit is valid.
func (u Unit) String() string {
	var b strings.Builder
	say := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
	}
	say(mark, "", "[Unit]",
		"Description=deed: runs coding agents that nobody has to trust",
		"# A fault that comes back at once is not tried for ever.",
		"StartLimitIntervalSec=300",
		"StartLimitBurst=10")
	if !u.User { // the manager of a user knows no network
		say("After=network-online.target", "Wants=network-online.target")
	}
	say("", "[Service]",
		"# deed says when it dispatches, and its loop says that it goes round: one that hangs is killed and started anew, and",
		"# what it left is swept by the next.",
		"Type=notify",
		"NotifyAccess=main",
		"WatchdogSec=300")
	exec := text(u.Exe) + " serve"
	if u.Concurrency > 0 {
		exec += fmt.Sprintf(" --concurrency %d", u.Concurrency)
	}
	say("ExecStart="+exec,
		"# `systemctl reload deed` has it read deed.yaml anew; settings that cannot be used are in the log, and the old ones stay in force.",
		"ExecReload=/bin/kill -s HUP $MAINPID",
		"# The first signal drains, the second, which systemd sends after this command, stops the running attempts: their tasks wait",
		"# for the next start and lose no attempt. To drain only, say `systemctl kill --kill-whom=main -s TERM deed`.",
		"ExecStop=/bin/kill -s TERM $MAINPID",
		"KillMode=mixed",
		"TimeoutStopSec=120",
		"Restart=on-failure",
		"RestartSec=5",
		"# 2 is a setting that cannot be read: starting again does not mend it.",
		"RestartPreventExitStatus=2",
		"# An agent that runs out of memory is an attempt that failed, not the end of the service.",
		"OOMPolicy=continue",
		"Environment="+text("DEED_HOME="+u.Home))
	if u.Path != "" {
		say("Environment=" + text("PATH="+u.Path))
	}
	say("# Secrets, one NAME=VALUE in each line, readable by the account alone. An agent gets those that its task names.",
		"EnvironmentFile=-"+plain(u.Secrets),
		"UMask=0077")
	if u.As != "" {
		say("User=" + u.As)
	}
	if u.User {
		say("# No ProtectSystem, PrivateTmp and the like: the manager of a user makes them of a user namespace of its own, in which",
			"# bubblewrap cannot make the one that agents are shut in.")
	} else {
		say("# The system's own files are read-only to deed.",
			"ProtectSystem=full")
	}
	say("# Agents are shut in by bubblewrap or a container, which deed starts and which need user namespaces, mounts and a whole /proc.",
		"# So there is none of: RestrictNamespaces, PrivateUsers, SystemCallFilter (mount and pivot_root), ProtectProc, ProcSubset,",
		"# ProtectKernelTunables and ProtectControlGroups (they cover parts of /proc and /sys, and the kernel then refuses a fresh /proc",
		"# inside), RestrictSUIDSGID, RestrictRealtime, LockPersonality and MemoryDenyWriteExecute (they imply NoNewPrivileges, with which",
		"# a rootless container cannot map its users; the last breaks agents that compile at run time).",
		"", "[Install]")
	if u.User {
		say("WantedBy=default.target")
	} else {
		say("WantedBy=multi-user.target")
	}
	return b.String()
}
