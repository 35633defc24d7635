package otlp

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// The wire types of protobuf that OTLP uses.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// A message is the bytes of a protobuf message that is being written. Methods named after a type write a field and leave
// it out at its zero value, as proto3 does; those that begin with "set" write it always, which members of a oneof and
// optional fields need.
type message []byte

func (m *message) tag(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

func (m *message) setUvarint(field int, v uint64) {
	m.tag(field, wireVarint)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) uvarint(field int, v uint64) {
	if v != 0 {
		m.setUvarint(field, v)
	}
}

// count writes a number of things that were dropped, which cannot be told beyond 32 bits.
func (m *message) count(field, v int) {
	m.uvarint(field, uint64(min(max(v, 0), math.MaxUint32)))
}

// sint writes a sint32, whose sign is folded into its lowest bit.
func (m *message) sint(field int, v int32) {
	m.uvarint(field, uint64(uint32(v)<<1^uint32(v>>31)))
}

func (m *message) bool(field int, v bool) {
	if v {
		m.setUvarint(field, 1)
	}
}

func (m *message) fixed32(field int, v uint32) {
	if v != 0 {
		m.tag(field, wireFixed32)
		*m = binary.LittleEndian.AppendUint32(*m, v)
	}
}

func (m *message) setFixed64(field int, v uint64) {
	m.tag(field, wireFixed64)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}

func (m *message) fixed64(field int, v uint64) {
	if v != 0 {
		m.setFixed64(field, v)
	}
}

func (m *message) setDouble(field int, v float64) { m.setFixed64(field, math.Float64bits(v)) }

// double leaves out zero alone: minus zero has a bit, and is written.
func (m *message) double(field int, v float64) { m.fixed64(field, math.Float64bits(v)) }

func (m *message) setBytes(field int, v []byte) {
	m.tag(field, wireBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(v))), v...)
}

func (m *message) bytes(field int, v []byte) {
	if len(v) > 0 {
		m.setBytes(field, v)
	}
}

// setText writes a string. Bytes that are no UTF-8, which protobuf has no place for, become U+FFFD: one such name must not
// cost the batch that it is in.
func (m *message) setText(field int, v string) {
	v = strings.ToValidUTF8(v, "\uFFFD")
	m.tag(field, wireBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(v))), v...)
}

func (m *message) text(field int, v string) {
	if v != "" {
		m.setText(field, v)
	}
}

// nest writes a message inside this one, an empty one as well. Its length is known when it has been written, and goes before
// it then.
func (m *message) nest(field int, write func(*message)) {
	m.tag(field, wireBytes)
	start := len(*m)
	write(m)
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(*m)-start))
	*m = slices.Insert(*m, start, length[:n]...)
}

// pack writes a repeated number as protobuf packs it; none of them is no field.
func pack[T any](m *message, field int, list []T, one func(message, T) message) {
	if len(list) > 0 {
		m.nest(field, func(m *message) {
			for _, v := range list {
				*m = one(*m, v)
			}
		})
	}
}

func packedFixed64(m message, v uint64) message { return binary.LittleEndian.AppendUint64(m, v) }
func packedDouble(m message, v float64) message { return packedFixed64(m, math.Float64bits(v)) }
func packedUvarint(m message, v uint64) message { return binary.AppendUvarint(m, v) }
