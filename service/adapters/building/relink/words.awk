# Reads a linker's command line, one argument a line, into words[1] to words[count], with the words of response
# files in their places.

{ add($0, 0) }

function add(word, depth) {
  if (word !~ /^@/ || depth > 9 || !expand(substr(word, 2), depth)) words[++count] = word
}

# A response file, as libiberty and LLVM read it: a backslash takes the next character as it is, also within
# quotes. False where there is no such file.
function expand(path, depth,    text, line, i, c, quote, word, is_word, is_there) {
  while ((getline line < path) > 0) { is_there = 1; text = text line "\n" }
  close(path)
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    if (c == "\\") { word = word substr(text, ++i, 1); is_word = 1 }
    else if (quote) { if (c == quote) quote = ""; else word = word c }
    else if (c ~ /["']/) { quote = c; is_word = 1 }
    else if (c !~ /[ \t\n\r\f\v]/) { word = word c; is_word = 1 }
    else if (is_word) { add(word, depth + 1); word = ""; is_word = 0 }
  }
  return is_there
}
