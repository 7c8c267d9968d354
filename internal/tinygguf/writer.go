package tinygguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// pad rounds up to the next aligned offset.
func pad(n int64) int64 { return (n + align - 1) / align * align }

// writer writes the values of the format and keeps the first error.
type writer struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (w *writer) raw(b []byte) {
	if w.err == nil {
		var k int
		k, w.err = w.w.Write(b)
		w.n += int64(k)
	}
}

func (w *writer) u16(v uint16) { w.raw(binary.LittleEndian.AppendUint16(nil, v)) }
func (w *writer) u32(v uint32) { w.raw(binary.LittleEndian.AppendUint32(nil, v)) }
func (w *writer) u64(v uint64) { w.raw(binary.LittleEndian.AppendUint64(nil, v)) }

func (w *writer) str(s string) {
	w.u64(uint64(len(s)))
	if w.err == nil {
		var k int
		k, w.err = io.WriteString(w.w, s)
		w.n += int64(k)
	}
}

func (w *writer) zeros(n int64) { w.raw(make([]byte, n)) }

// value writes the type of a value and the value.
func (w *writer) value(v any) {
	switch v := v.(type) {
	case uint16:
		w.u32(2)
		w.u16(v)
	case uint32:
		w.u32(4)
		w.u32(v)
	case int32:
		w.u32(5)
		w.u32(uint32(v))
	case float32:
		w.u32(6)
		w.u32(math.Float32bits(v))
	case bool:
		w.u32(7)
		if v {
			w.raw([]byte{1})
		} else {
			w.raw([]byte{0})
		}
	case string:
		w.u32(8)
		w.str(v)
	case []string:
		w.array(8, len(v))
		for _, s := range v {
			w.str(s)
		}
	case []float32:
		w.array(6, len(v))
		for _, x := range v {
			w.u32(math.Float32bits(x))
		}
	case []int32:
		w.array(5, len(v))
		for _, x := range v {
			w.u32(uint32(x))
		}
	default:
		w.err = fmt.Errorf("no GGUF type for %T", v)
	}
}

func (w *writer) array(elem uint32, n int) {
	w.u32(9)
	w.u32(elem)
	w.u64(uint64(n))
}

// directory lists the tensors, and returns the room that their data takes.
func (w *writer) directory(ts []tensor) int64 {
	var off int64
	for _, t := range ts {
		w.str(t.name)
		w.u32(uint32(len(t.ne)))
		for _, d := range t.ne {
			w.u64(uint64(d))
		}
		w.u32(uint32(types[t.typ].id))
		w.u64(uint64(off))
		off += pad(t.bytes())
	}
	return off
}

// tensor writes the data of one, row by row.
func (w *writer) tensor(t tensor) {
	k := types[t.typ]
	r := newRNG(t.seed, t.name)
	x := make([]float32, t.ne[0])
	buf := make([]byte, t.ne[0]/k.block*k.size)
	rows := int(t.elems() / int64(t.ne[0]))
	for i := 0; i < rows && w.err == nil; i++ {
		t.row(r, i, x)
		k.put(buf, x)
		w.raw(buf)
	}
	w.zeros(pad(w.n) - w.n)
}
