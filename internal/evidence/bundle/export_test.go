package bundle

// Steps are the points at which a crash test can stop a writer, in order.
var Steps = []string{"created", "added", "derived", "signed", "manifest", "synced", "published"}

// OnStep has f called at every step. It is for a process that does nothing else.
func OnStep(f func(step string)) { at = f }
