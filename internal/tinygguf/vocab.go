package tinygguf

import (
	"fmt"
	"strings"
)

const (
	tokUnk = iota
	tokBOS
	tokEOT
	tokStart
	tokEnd
	tokBytes
)

// Token kinds, as GGUF numbers them.
const (
	kindNormal  = 1
	kindUnknown = 2
	kindControl = 3
	kindUser    = 4
	kindByte    = 6
)

type vocab struct {
	tokens []string
	scores []float32
	kinds  []int32
	whole  []bool // a whole word or a mark: what the model may say
	id     map[string]int
}

const lexicon = "the and of to in is that it for on with as was at by from or an be this not are but had his her they " +
	"one all we can there use each which do how their if will up other about out many then them these so some " +
	"would make like him into time has look two more write go see number no way could people my than first " +
	"water been call who oil its now find long down day did get come made may part user assistant system hello world"

// newVocab makes a SentencePiece-like vocabulary. Every prefix of a word is a
// token and a longer one merges first, so a word of the lexicon becomes one
// token, and anything else its letters or its bytes.
func newVocab(said, unsaid []string, tools bool) *vocab {
	v := &vocab{id: map[string]int{}}
	add := func(t string, score float32, kind int32, whole bool) {
		if i, ok := v.id[t]; ok {
			v.whole[i] = v.whole[i] || whole
			return
		}
		v.id[t] = len(v.tokens)
		v.tokens = append(v.tokens, t)
		v.scores = append(v.scores, score)
		v.kinds = append(v.kinds, kind)
		v.whole = append(v.whole, whole)
	}
	add("<unk>", 0, kindUnknown, false)
	add("<s>", 0, kindControl, false)
	add("</s>", 0, kindControl, false)
	add("<|im_start|>", 0, kindControl, false)
	add("<|im_end|>", 0, kindControl, false)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), 0, kindByte, false)
	}
	add("▁", -100, kindNormal, false)
	for c := rune(33); c < 127; c++ {
		add(string(c), -100, kindNormal, strings.ContainsRune(".,", c))
	}
	for i, ws := range [][]string{strings.Fields(lexicon), said, unsaid} {
		for _, w := range ws {
			runes := []rune(w)
			for n := 1; n <= len(runes); n++ {
				add("▁"+string(runes[:n]), float32(n)-50, kindNormal, n == len(runes) && i < 2)
			}
		}
	}
	if tools {
		add("<tool_call>", 0, kindUser, false)
		add("</tool_call>", 0, kindUser, false)
	}
	for len(v.tokens)%32 != 0 {
		add(fmt.Sprintf("<pad%d>", len(v.tokens)), 0, kindControl, false)
	}
	return v
}
