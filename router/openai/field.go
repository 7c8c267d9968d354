package openai

import "strings"

// Field is a top-level member of a request that the router knows. Two kinds are known: those it decides by (model,
// stream, limits) and those that steer an engine past the router.
type Field uint8

// The fields the router decides by.
const (
	FieldModel Field = iota
	FieldStream
	FieldStreamOptions
	FieldN
	FieldBestOf
	FieldMaxTokens
	FieldMaxCompletionTokens
	FieldUser
	FieldMessages
	FieldPrompt
	FieldInput
	FieldTools
	FieldResponseFormat
	FieldEncodingFormat

	// The fields that steer an engine, from here on: they choose adapters, templates, caches, slots or places on the
	// network, which is the router's business or nobody's.
	FieldPriority
	FieldLoraPath
	FieldLora
	FieldKVTransferParams
	FieldCacheSalt
	FieldPromptEmbeds
	FieldMMProcessorKwargs
	FieldChatTemplate
	FieldChatTemplateKwargs
	FieldAPIBase
	FieldBaseURL
	FieldExtraBody
	FieldNDiscard
	FieldSlotID
	FieldIDSlot
	FieldCachePrompt
	FieldBootstrapHost
	FieldBootstrapPort
	FieldBootstrapRoom
	FieldVLLMXArgs

	// Other names of the limit and of the number of choices, which would beat those that were counted on.
	FieldNPredict
	FieldNCmpl
	FieldMaxNewTokens

	// Ids that another request may have, a way past the router's choice, and code.
	FieldRequestID
	FieldRID
	FieldExtraKey
	FieldSessionParams
	FieldDataParallelRank
	FieldCustomLogitProcessor
	FieldLogitsProcessors

	fieldCount
)

// fieldNames are the members' names by field.
var fieldNames = [fieldCount]string{
	"model", "stream", "stream_options", "n", "best_of", "max_tokens", "max_completion_tokens", "user", "messages", "prompt",
	"input", "tools", "response_format", "encoding_format",
	"priority", "lora_path", "lora", "kv_transfer_params", "cache_salt", "prompt_embeds", "mm_processor_kwargs", "chat_template",
	"chat_template_kwargs", "api_base", "base_url", "extra_body", "n_discard", "slot_id", "id_slot", "cache_prompt",
	"bootstrap_host", "bootstrap_port", "bootstrap_room", "vllm_xargs",
	"n_predict", "n_cmpl", "max_new_tokens", "request_id", "rid", "extra_key", "session_params", "data_parallel_rank",
	"custom_logit_processor", "logits_processors",
}

// String gives the member's name.
func (f Field) String() string {
	if f < fieldCount {
		return fieldNames[f]
	}
	return "unknown"
}

// Fields is a set of fields.
type Fields uint64

// Steering is the set of the fields that steer an engine past the router.
const Steering = Fields(1<<fieldCount - 1<<FieldPriority)

// FieldsOf makes a set.
func FieldsOf(fields ...Field) Fields {
	var s Fields
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

// Has reports whether f is in the set.
func (s Fields) Has(f Field) bool { return s&(1<<f) != 0 }

// String lists the names in the order of the fields, separated by commas.
func (s Fields) String() string {
	var names []string
	for f := range fieldCount {
		if s.Has(f) {
			names = append(names, fieldNames[f])
		}
	}
	return strings.Join(names, ", ")
}

// longestKey bounds the names that can be a known field's: the longest name, each letter written as the three bytes of
// a letter that folds to it.
const longestKey = 3 * len("custom_logit_processor")

// fold appends the form in which two names are the same to a decoder that ignores case. Beside ASCII, only two letters
// fold to ASCII ones: the long s and the Kelvin sign.
func fold(dst, name []byte) []byte {
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c == 0xc5 && i+1 < len(name) && name[i+1] == 0xbf:
			dst, i = append(dst, 's'), i+1
		case c == 0xe2 && i+2 < len(name) && name[i+1] == 0x84 && name[i+2] == 0xaa:
			dst, i = append(dst, 'k'), i+2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// lookup finds the field that a decoder which ignores case could take name for, and whether the name is exact.
func lookup(name []byte) (f Field, exact, ok bool) {
	if len(name) > longestKey {
		return 0, false, false
	}
	var room [longestKey]byte
	folded := fold(room[:0], name)
	for f := range fieldCount {
		if string(folded) == fieldNames[f] {
			return f, string(name) == fieldNames[f], true
		}
	}
	return 0, false, false
}
