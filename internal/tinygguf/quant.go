package tinygguf

import (
	"encoding/binary"
	"math"
)

func putF32(dst []byte, x []float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
}

func putF16(dst []byte, x []float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint16(dst[2*i:], half(v))
	}
}

// half rounds to IEEE half precision, to nearest. Values too small for a
// normal half become zero, and too large ones the largest.
func half(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b < 0x38800000:
		return sign
	case b >= 0x477ff000:
		return sign | 0x7bff
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}

func putQ8(dst []byte, x []float32) {
	for b := 0; b*32 < len(x); b++ {
		q, d := x[b*32:b*32+32], dst[b*34:b*34+34]
		var top float32
		for _, v := range q {
			top = max(top, max(v, -v))
		}
		scale := top / 127
		binary.LittleEndian.PutUint16(d, half(scale))
		for i, v := range q {
			d[2+i] = 0
			if scale > 0 {
				d[2+i] = byte(int8(math.RoundToEven(float64(v / scale))))
			}
		}
	}
}

func putQ4(dst []byte, x []float32) {
	for b := 0; b*32 < len(x); b++ {
		q, d := x[b*32:b*32+32], dst[b*18:b*18+18]
		var top float32
		for _, v := range q {
			if max(v, -v) > max(top, -top) {
				top = v
			}
		}
		scale := top / -8
		binary.LittleEndian.PutUint16(d, half(scale))
		n := func(v float32) byte {
			if scale == 0 {
				return 8
			}
			return byte(min(15, max(0, int(v/scale+8.5))))
		}
		for i := range 16 {
			d[2+i] = n(q[i]) | n(q[i+16])<<4
		}
	}
}
