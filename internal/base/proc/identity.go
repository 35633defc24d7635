package proc

// An Identity names one process among all that ever run on any machine.
type Identity struct {
	Host      string `json:"host"`
	PID       int    `json:"pid"`
	BootID    string `json:"boot_id,omitempty"`    // of the running kernel
	Namespace string `json:"namespace,omitempty"`  // the pid namespace that PID belongs to
	StartTime uint64 `json:"start_time,omitempty"` // in clock ticks since boot
}
