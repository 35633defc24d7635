// Package workspace owns the directories an agent works in: how they are seeded from a caller's directory, what is in
// them (a content manifest), what changed, the patch that describes the change, and the clean room that a patch is
// judged in. It does not decide whether a change is allowed, and it runs no code of the agent or of the caller: git
// is used as a library with a hermetic configuration.
//
// Trust. The caller's source is read and never written. A workspace is hostile: its entries are opened below a root
// descriptor without following any symbolic link, special files are never opened, and what git is given was read by
// deed and compared with the manifest. The base is deed's own copy of the workspace before the agent had it.
//
// What a manifest does not see: extended attributes and access control lists, hard links between files (each name
// is a file of its own), and the times of files.
package workspace
