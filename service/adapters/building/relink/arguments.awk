# Writes a linker's command line anew: object files shuffled among their places, padding between inputs.
#
# Takes the words of words.awk. Writes SCRATCH/arguments, a response file, and SCRATCH/pad-K.s, the padding's
# sources. Fails where the order must not be touched.

BEGIN {
  state = seed
  pads = 64  # more cost assembling, and move nothing further
  # Options whose value is an argument of its own, and could be called like an object file.
  for (i = split("o T R L h e u z m A I soname output Map script just-symbols plugin plugin-opt entry " \
      "undefined defsym rpath dynamic-linker version-script dynamic-list", names, " "); i; i--) {
    takes_value["-" names[i]]
    takes_value["--" names[i]]
  }
}

# Park and Miller, "Random number generators: good ones are hard to find", CACM 31, 1988: the same
# numbers from every awk.
function random(below) {
  state = (state * 16807) % 2147483647
  return state % below
}

END {
  find_inputs()
  if (is_refused || !inputs) exit 1
  shuffle()
  out = scratch "/arguments"
  for (i = 1; i <= count; i++) {
    # At most so many paddings, evenly likely before each input; one in any case, as all behind it moves.
    if (is_input[i] && (!padded || random(inputs) < pads)) pad(++padded)
    print quoted(words[i]) > out
  }
}

# Where objects and archives are. Start-up files keep their places, members between --start-lib and --end-lib
# too; partial links and inputs of another format are not ours to alter.
function find_inputs(    i, word) {
  for (i = 1; i <= count; i++) {
    word = words[i]
    if (word ~ /^(-r|-i|-Ur|--?relocatable|-b|--?format|--?format=.*)$/) is_refused = 1
    else if (word ~ /^--?start-lib$/) is_lazy = 1
    else if (word ~ /^--?end-lib$/) is_lazy = 0
    else if (word in takes_value) i++
    else if (word ~ /^-/ || is_lazy || is_start_up(word)) continue
    else if (word ~ /\.(o|obj)$/) { objects[++n_objects] = i; is_input[i] = 1; inputs++ }
    else if (word ~ /\.a$/) { is_input[i] = 1; inputs++ }
  }
}

function is_start_up(path) {
  sub(/.*\//, "", path)
  return path ~ /^[a-zA-Z]?crt[a-zA-Z0-9_]*\.o$|_preinit\.o$/
}

function shuffle(    i, other, word) {
  for (i = n_objects; i > 1; i--) {
    other = random(i) + 1
    word = words[objects[i]]
    words[objects[i]] = words[objects[other]]
    words[objects[other]] = word
  }
}

# Padding is never used: without a symbol that is asked for, --gc-sections would drop it. The first one
# moves all by up to a page, the others by up to 1 KiB.
function pad(k,    file) {
  file = scratch "/pad-" k
  section(file ".s", k, "text", "\"ax\",%progbits", k == 1 ? 256 : 64)
  section(file ".s", k, "rodata", "\"a\",%progbits", 64)
  section(file ".s", k, "data", "\"aw\",%progbits", 64)
  section(file ".s", k, "bss", "\"aw\",%nobits", 64)
  print ".section .note.GNU-stack,\"\",%progbits" > (file ".s")
  close(file ".s")
  print quoted(file ".o") > out
}

function section(source, k, name, flags, steps,    symbol) {
  symbol = "benchgate_pad_" k "_" name
  print ".section ." name "," flags "\n.globl " symbol "\n.hidden " symbol "\n" symbol ":" > source
  print ".space " 16 * (1 + random(steps)) > source
  print "--undefined=" symbol > out
}

function quoted(word) {
  gsub(/[\\"' \t\r\f\v]/, "\\\\&", word)
  return word == "" ? "''" : word
}
