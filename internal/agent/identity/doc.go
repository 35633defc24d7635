// Package identity owns who an agent is and what it wrote about itself: the documents of its constitution, kept in the home by
// their content, revisions of them as proposals, and the version that an attempt starts with. Agents are records: no name of one
// is in the code. It does not say what a brief looks like, and only an operator's command decides a proposal.
package identity
