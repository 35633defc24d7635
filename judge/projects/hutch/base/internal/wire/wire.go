// Package wire reads and writes the lines of the protocol.
package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Command is a line that was understood.
type Command struct {
	Name string
	Args []string
}

// arity holds the least and the greatest number of arguments.
var arity = map[string][2]int{
	"set":  {2, 3},
	"get":  {1, 1},
	"del":  {1, 1},
	"incr": {1, 2},
	"keys": {0, 1},
	"len":  {0, 0},
	"quit": {0, 0},
}

// Parse reads a line.
func Parse(line string) (Command, error) {
	words, err := split(line)
	if err != nil {
		return Command{}, err
	}
	if len(words) == 0 {
		return Command{}, errors.New("empty line")
	}
	cmd := Command{Name: strings.ToLower(words[0]), Args: words[1:]}
	limits, ok := arity[cmd.Name]
	if !ok {
		return Command{}, fmt.Errorf("unknown command %s", Quote(words[0]))
	}
	if len(cmd.Args) < limits[0] || len(cmd.Args) > limits[1] {
		return Command{}, fmt.Errorf("wrong number of arguments for %s", cmd.Name)
	}
	return cmd, nil
}

// String is a line that Parse reads as the same command.
func (c Command) String() string {
	line := c.Name
	for _, arg := range c.Args {
		line += " " + Quote(arg)
	}
	return line
}

var (
	escape   = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	unescape = map[byte]byte{'\\': '\\', '"': '"', 'n': '\n', 't': '\t'}
)

// Quote puts a word into quotes.
func Quote(word string) string {
	return `"` + escape.Replace(word) + `"`
}

func split(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" {
			return words, nil
		}
		if line[0] != '"' {
			end := strings.IndexAny(line, " \t\r")
			if end < 0 {
				end = len(line)
			}
			if strings.Contains(line[:end], `"`) {
				return nil, errors.New("quote inside of a word")
			}
			words = append(words, line[:end])
			line = line[end:]
			continue
		}
		word, rest, err := quoted(line[1:])
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		line = rest
	}
}

// quoted reads up to the closing quote.
func quoted(line string) (word, rest string, err error) {
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"':
			if i+1 < len(line) && !strings.ContainsRune(" \t\r", rune(line[i+1])) {
				return "", "", errors.New("no blank after a quote")
			}
			return out.String(), line[i+1:], nil
		case '\\':
			i++
			if i == len(line) {
				return "", "", errors.New("quote is not closed")
			}
			plain, ok := unescape[line[i]]
			if !ok {
				return "", "", fmt.Errorf(`unknown escape \%c`, line[i])
			}
			out.WriteByte(plain)
		default:
			out.WriteByte(line[i])
		}
	}
	return "", "", errors.New("quote is not closed")
}
