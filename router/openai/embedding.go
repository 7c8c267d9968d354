package openai

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// Embeddings appends a whole answer with one vector for each input, as numbers or, packed, as base64 of little-endian
// float32. Usage counts the prompt only.
func (w Writer) Embeddings(dst []byte, vectors [][]float32, packed bool, promptTokens int64) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, v := range vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(i), 10)
		dst = append(dst, `,"embedding":`...)
		if packed {
			dst = appendPacked(dst, v)
		} else {
			dst = appendNumbers(dst, v)
		}
		dst = append(dst, '}')
	}
	dst = AppendString(append(dst, `],"model":`...), w.Model)
	dst = strconv.AppendInt(append(dst, `,"usage":{"prompt_tokens":`...), promptTokens, 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), promptTokens, 10)
	return append(dst, "}}"...)
}

func appendNumbers(dst []byte, v []float32) []byte {
	dst = append(dst, '[')
	for i, f := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(f), 'g', -1, 32)
	}
	return append(dst, ']')
}

func appendPacked(dst []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), raw)
	return append(dst, '"')
}
