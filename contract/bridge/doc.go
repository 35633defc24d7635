// Package bridge maps the status vocabularies of the contract onto each other. It owns no record and no state.
package bridge
