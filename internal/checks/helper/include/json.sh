# homeboy__json_object TYPE:KEY VALUE ...: one JSON object on one line, correct whatever the text: every byte goes through
# od, so no shell and no awk ever has to understand it. What is not ASCII is escaped, and what is not UTF-8 becomes U+FFFD.
# Types: s string; z string, null when empty; x string, cut to 240 characters; n whole number, else null; b true or false;
# t string alone, without braces and key.
homeboy__json_object() {
  printf '%s\0' "$@" | od -An -v -tu1 | awk '
    function put(c,  hi) {
      if (cut && chars >= 240) return
      chars++
      if (c == 34) text = text "\\\""
      else if (c == 92) text = text "\\\\"
      else if (c == 10) text = text "\\n"
      else if (c == 13) text = text "\\r"
      else if (c == 9) text = text "\\t"
      else if (c >= 32 && c < 127) text = text sprintf("%c", c)
      else if (c < 65536) text = text sprintf("\\u%04x", c)
      else {
        hi = int((c - 65536) / 1024)
        text = text sprintf("\\u%04x\\u%04x", 55296 + hi, c - 65536 - hi * 1024 + 56320)
      }
    }
    function start(b) {
      need = 0
      if (b < 128) put(b)
      else if (b >= 194 && b < 224) { need = 1; cp = b - 192; low = 128 }
      else if (b >= 224 && b < 240) { need = 2; cp = b - 224; low = 2048 }
      else if (b >= 240 && b < 245) { need = 3; cp = b - 240; low = 65536 }
      else put(65533)
    }
    function byte(b) {
      if (!need) { start(b); return }
      if (b < 128 || b > 191) { put(65533); start(b); return }
      cp = cp * 64 + b - 128
      if (--need) return
      if (cp < low || cp > 1114111 || (cp >= 55296 && cp < 57344)) put(65533)
      else put(cp)
    }
    function field(  v) {
      if (need) { put(65533); need = 0 }
      if (!odd) {
        type = substr(text, 1, 1); key = substr(text, 3); odd = 1; cut = (type == "x")
      } else {
        v = "\"" text "\""
        if (type == "z" && text == "") v = "null"
        if (type == "n") {
          neg = sub(/^-/, "", text)
          v = "null"
          if (text ~ /^[0-9]+$/ && length(text) < 16) {
            sub(/^0+/, "", text)
            v = text == "" ? "0" : (neg ? "-" : "") text
          }
        }
        if (type == "b") v = (text == "true" || text == "1") ? "true" : "false"
        out = out sep (type == "t" ? v : "\"" key "\":" v); sep = ","; odd = 0; cut = 0
      }
      text = ""; chars = 0
    }
    { for (i = 1; i <= NF; i++) if ($i == 0) field(); else byte($i + 0) }
    END { print (type == "t") ? out : "{" out "}" }'
}

# homeboy__json_string TEXT: TEXT as a JSON string.
homeboy__json_string() { homeboy__json_object t: "$1"; }
