package draft

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// formats are the formats that are asserted, by name. Any other is words for people.
var formats = map[string]func(string) error{
	"date":                  isDate,
	"time":                  isTime,
	"date-time":             isDateTime,
	"duration":              isDuration,
	"period":                isPeriod,
	"email":                 isEmail,
	"hostname":              isHostname,
	"ipv4":                  isIPv4,
	"ipv6":                  isIPv6,
	"uri":                   isURI,
	"iri":                   isURI,
	"uri-reference":         isReference,
	"iri-reference":         isReference,
	"uri-template":          isTemplate,
	"regex":                 isRegex,
	"uuid":                  grammar(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`, "it is not 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12"),
	"json-pointer":          grammar(`^(/([^/~]|~[01])*)*$`, "it is not names that each begin with /, with ~0 for ~ and ~1 for /"),
	"relative-json-pointer": grammar(`^(0|[1-9][0-9]*)(#|(/([^/~]|~[01])*)*)$`, "it is not a number and # or a JSON pointer"),
	"semver": grammar(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`,
		"it is not a version such as 1.2.3"),
}

// grammar is a format that an expression describes.
func grammar(expression, otherwise string) func(string) error {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	return func(s string) error {
		if !compiled().MatchString(s) {
			return errors.New(otherwise)
		}
		return nil
	}
}

func isDate(s string) error {
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return errors.New("it is not a day such as 2026-01-31")
	}
	return nil
}

var clockTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[zZ]|([+-])([0-9]{2}):([0-9]{2}))$`)
})

// isTime knows leap seconds, which come at the end of a day of UTC.
func isTime(s string) error {
	m := clockTime().FindStringSubmatch(s)
	if m == nil {
		return errors.New("it is not a time with its zone, such as 08:00:00Z")
	}
	at := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // absent is 0
		return n
	}
	hour, minute, second, zone := at(1), at(2), at(3), at(5)*60+at(6)
	if hour > 23 || minute > 59 || second > 60 || at(5) > 23 || at(6) > 59 {
		return errors.New("there is no such time")
	}
	if m[4] == "+" {
		zone = -zone
	}
	if day := 24 * 60; second == 60 && (hour*60+minute+zone+day)%day != day-1 {
		return errors.New("there is no such second")
	}
	return nil
}

func isDateTime(s string) error {
	if len(s) < 11 || s[10] != 'T' && s[10] != 't' {
		return errors.New("it is not a day and a time such as 2026-01-31T08:00:00Z")
	}
	if err := isDate(s[:10]); err != nil {
		return err
	}
	return isTime(s[11:])
}

var durationParts = grammar(`^P([0-9]+W|([0-9]+Y)?([0-9]+M)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?)$`, "it is not a duration such as P1DT2H")

func isDuration(s string) error {
	if s == "P" || strings.HasSuffix(s, "T") {
		return errors.New("something is missing at its end")
	}
	return durationParts(s)
}

// isPeriod is two instants, or one and how long from or until then.
func isPeriod(s string) error {
	from, to, ok := strings.Cut(s, "/")
	switch {
	case !ok:
		return errors.New("it has no /")
	case strings.HasPrefix(from, "P"):
		return errors.Join(isDuration(from), isDateTime(to))
	case strings.HasPrefix(to, "P"):
		return errors.Join(isDateTime(from), isDuration(to))
	}
	return errors.Join(isDateTime(from), isDateTime(to))
}

var (
	atom   = grammar("^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*$", "what is before the @ is no name")
	quoted = grammar(`^"[^"\\]*"$`, "what is before the @ is no name")
)

func isEmail(s string) error {
	i := strings.LastIndexByte(s, '@')
	if i < 0 || i > 64 || len(s) > 254 {
		return errors.New("it is not NAME@HOST with at most 64 characters before the @")
	}
	name, host := s[:i], s[i+1:]
	if quoted(name) != nil {
		if err := atom(name); err != nil {
			return err
		}
	}
	if literal, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(literal, "]") {
		literal = strings.TrimSuffix(literal, "]")
		if six, ok := strings.CutPrefix(literal, "IPv6:"); ok {
			return isIPv6(six)
		}
		return isIPv4(literal)
	}
	return isHostname(host)
}

var hostLabels = grammar(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$`,
	"it is not labels of 1 to 63 letters, digits and hyphens between dots")

func isHostname(s string) error {
	if len(strings.TrimSuffix(s, ".")) > 253 {
		return errors.New("it is longer than 253 characters")
	}
	return hostLabels(s)
}

func isIPv4(s string) error {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is4() {
		return errors.New("it is not four numbers from 0 to 255")
	}
	return nil
}

func isIPv6(s string) error {
	if a, err := netip.ParseAddr(s); err != nil || !a.Is6() || a.Zone() != "" {
		return errors.New("it is not eight groups of hexadecimal digits")
	}
	return nil
}

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) { // the text of it repeats the address
			err = inner.Err
		}
		return nil, err
	}
	if host := u.Hostname(); strings.Contains(host, ":") {
		if !strings.HasPrefix(u.Host, "[") {
			return nil, errors.New("an IPv6 address is in brackets there")
		}
		if err := isIPv6(host); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func isURI(s string) error {
	u, err := parseURL(s)
	if err == nil && !u.IsAbs() {
		err = errors.New("it has no scheme")
	}
	return err
}

func isReference(s string) error {
	if strings.Contains(s, `\`) {
		return errors.New(`it has a \`)
	}
	_, err := parseURL(s)
	return err
}

// isTemplate demands that every { has its } and none is within another.
func isTemplate(s string) error {
	open := false
	for _, c := range s {
		if c == '{' || c == '}' {
			if open == (c == '{') {
				return errors.New("its braces do not match")
			}
			open = !open
		}
	}
	if open {
		return errors.New("its braces do not match")
	}
	return nil
}

func isRegex(s string) error {
	_, err := regexp.Compile(s)
	return err
}
