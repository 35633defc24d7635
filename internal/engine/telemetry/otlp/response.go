package otlp

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A PartialError says that a collector took a request without a part of it, or with a remark.
type PartialError struct {
	Message string
	Count   int64
	Unit    string // what was counted: spans, metric data points or logs
}

// Error says how many were rejected, and why.
func (e *PartialError) Error() string {
	message := e.Message
	if message == "" {
		message = "empty message"
	}
	return fmt.Sprintf("OTLP partial success: %s (%d %s rejected)", message, e.Count, e.Unit)
}

// rejected reads the answer to a request that was taken; nil: all of it was. An answer of a content type that is not known
// says nothing.
func (s signal) rejected(contentTypeOf string, answer []byte) error {
	e := PartialError{Unit: s.unit}
	var err error
	switch {
	case len(answer) == 0:
		return nil
	case contentTypeOf == contentType:
		err = eachField(answer, func(field, wire int, value uint64, text []byte) error {
			if field != 1 || wire != wireBytes {
				return nil
			}
			return eachField(text, func(field, wire int, value uint64, text []byte) error {
				switch {
				case field == 1 && wire == wireVarint:
					e.Count = int64(value)
				case field == 2 && wire == wireBytes:
					e.Message = string(text)
				}
				return nil
			})
		})
	case contentTypeOf == "application/json" && s.json:
		err = e.fromJSON(answer)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the answer of the collector: %w", err)
	case e.Count != 0 || e.Message != "":
		return &e
	}
	return nil
}

func (e *PartialError) fromJSON(answer []byte) error {
	var doc struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"` // protobuf's JSON has a number as text, and takes both
			ErrorMessage  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if err := json.Unmarshal(answer, &doc); err != nil {
		return err
	}
	e.Message = doc.PartialSuccess.ErrorMessage
	if n := strings.Trim(string(doc.PartialSuccess.RejectedSpans), `"`); n != "" && n != "null" {
		var err error
		if e.Count, err = strconv.ParseInt(n, 10, 64); err != nil {
			return fmt.Errorf("rejectedSpans: %w", err)
		}
	}
	return nil
}

var errCut = errors.New("protobuf message is cut off or damaged")

// eachField reads the fields of a protobuf message in their order. value is that of a number, text that of anything with a
// length.
func eachField(m []byte, each func(field, wire int, value uint64, text []byte) error) error {
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return errCut
		}
		m = m[n:]
		var value uint64
		var text []byte
		switch tag & 7 {
		case wireVarint:
			value, n = binary.Uvarint(m)
		case wireFixed64:
			n = 8
		case wireFixed32:
			n = 4
		case wireBytes:
			var length uint64
			if length, n = binary.Uvarint(m); n > 0 {
				if length > uint64(len(m)-n) {
					return errCut
				}
				text = m[n : n+int(length)]
				n += int(length)
			}
		default:
			return errCut
		}
		if n <= 0 || n > len(m) {
			return errCut
		}
		m = m[n:]
		if err := each(int(tag>>3), int(tag&7), value, text); err != nil {
			return err
		}
	}
	return nil
}
