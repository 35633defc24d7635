package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
)

// other answers what is not a question to a model: lists of models, versions, counts of tokens.
func (s *Server) other(rw http.ResponseWriter, r *http.Request, p string, body []byte) {
	switch {
	case strings.HasSuffix(p, "/responses") && r.Method == http.MethodGet:
		// Clients that try WebSocket first fall back on this.
		http.Error(rw, "use POST", http.StatusUpgradeRequired)
	case strings.HasSuffix(p, "/messages/count_tokens") && r.Method == http.MethodPost:
		respond(rw, http.StatusOK, object{"input_tokens": max(1, len(body)/4)})
	case strings.HasSuffix(p, "/models") && r.Method == http.MethodGet:
		s.models(rw)
	case strings.HasSuffix(p, "/api/version"):
		respond(rw, http.StatusOK, object{"version": "0.17.4"})
	case strings.HasSuffix(p, "/api/tags"):
		s.tags(rw)
	case strings.HasSuffix(p, "/api/show") && r.Method == http.MethodPost:
		respond(rw, http.StatusOK, object{
			"modelfile": "", "template": "{{ .Prompt }}", "details": ollamaDetails,
			"model_info": object{"general.architecture": "script", "script.context_length": 200_000}, "capabilities": []string{"completion", "tools"},
		})
	case r.Method == http.MethodHead, r.Method == http.MethodGet && strings.Trim(p, "/") == "":
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = rw.Write([]byte("deed's scripted model\n"))
	default:
		respond(rw, http.StatusNotFound, failOpenAI(http.StatusNotFound, "not_found", "there is nothing at "+r.Method+" "+p))
	}
}

// models lists one model for each scenario, in the form of OpenAI and of Anthropic at once.
func (s *Server) models(rw http.ResponseWriter) {
	data := []object{}
	for _, name := range s.Scenarios() {
		data = append(data, object{
			"id": "scn-" + name, "object": "model", "created": created, "owned_by": "script",
			"type": "model", "display_name": name, "created_at": ollamaTime,
		})
	}
	respond(rw, http.StatusOK, object{"object": "list", "data": data, "has_more": false, "first_id": data[0]["id"], "last_id": data[len(data)-1]["id"]})
}

var ollamaDetails = object{"format": "gguf", "family": "script", "families": []string{"script"}, "parameter_size": "1B", "quantization_level": "F16"}

func (s *Server) tags(rw http.ResponseWriter) {
	models := []object{}
	for _, name := range s.Scenarios() {
		models = append(models, object{
			"name": "scn-" + name + ":latest", "model": "scn-" + name + ":latest", "modified_at": ollamaTime, "size": 1,
			"digest": strings.Repeat("0", 64), "details": json.RawMessage(encode(ollamaDetails)),
		})
	}
	respond(rw, http.StatusOK, object{"models": models})
}
