// Package codebox holds what an orchestrator of WP Codebox exchanges with deed: the request for a run of an agent, the
// envelope that answers it, abilities and runner workspaces. It owns their wire names, their vocabularies and the rules that a
// single record can break. It does no I/O. The records inside a bundle are in contract/evidence.
package codebox
