package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A door is a listener inside that leads to one address of the host's loopback interface.
type door struct {
	At       string `json:"at"`                 // where it listens
	Target   string `json:"target"`             // what the proxy is asked for; empty for the door of the proxy itself
	Optional bool   `json:"optional,omitempty"` // there may be no such address on this machine
}

// Bounds of the doors of one sandbox.
const (
	maxDoors = 64
	// firstPort is the first port that a command without rights may listen on. The kernel has it in a setting that a new
	// network namespace does not take over.
	firstPort = 1024
)

// localhost is the name that stands for both addresses of the loopback interface.
const localhost = "localhost"

// Openable reports whether a loopback address can have a door; one that cannot is reached through the proxy alone.
func Openable(target string) bool {
	_, port, err := net.SplitHostPort(target)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n >= firstPort
}

// resolveDoors checks the loopback addresses of a Spec.
func resolveDoors(spec Spec) (doors []door, faults []error) {
	if len(spec.Loopback) > 0 && spec.Egress == "" {
		return nil, []error{errors.New("loopback: there is no way out that could lead there (name the egress socket)")}
	}
	for i, target := range spec.Loopback {
		field := fmt.Sprintf("loopback[%d]", i)
		list, err := resolveDoor(target)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field, err))
		}
		for _, d := range list {
			switch {
			case d.At == egressAddress:
				faults = append(faults, fmt.Errorf("%s: %s is where deed's proxy listens inside (use another port)", field, target))
			case !slices.ContainsFunc(doors, func(o door) bool { return o.At == d.At }): // 127.0.0.1 in addition to localhost
				doors = append(doors, d)
			}
		}
	}
	if len(doors) > maxDoors {
		faults = append(faults, fmt.Errorf("loopback: %d addresses, and at most %d can be opened", len(doors), maxDoors))
	}
	return doors, faults
}

func resolveDoor(target string) ([]door, error) {
	at := target
	port, named := strings.CutPrefix(target, localhost+":")
	if named {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	addr, err := netip.ParseAddrPort(at)
	switch {
	case err != nil || addr.String() != at || !addr.Addr().IsLoopback() || addr.Addr().Is4In6():
		return nil, fmt.Errorf("%q is not a loopback address with its port, as in 127.0.0.1:8080, [::1]:8080 or localhost:8080", target)
	case !Openable(target):
		return nil, fmt.Errorf("%q: a command without rights cannot have a port below %d (leave it out, and use the proxy for it)", target, firstPort)
	}
	doors := []door{{At: at, Target: target}}
	if named {
		doors = append(doors, door{At: net.JoinHostPort("::1", port), Target: target, Optional: true})
	}
	return doors, nil
}

// doorList writes doors for the inner half.
func doorList(doors []door) (string, error) {
	text, err := json.Marshal(doors)
	return string(text), err
}

// parseDoors reads what doorList wrote.
func parseDoors(text string) (doors []door, err error) {
	if err := json.Unmarshal([]byte(text), &doors); err != nil {
		return nil, fmt.Errorf("read the doors: %w (this is for deed's own use)", err)
	}
	return doors, nil
}
