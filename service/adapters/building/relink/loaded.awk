# Prints what a linker would load by its command line: the paths of plugins; `/src` for options that may name others.
#
# Takes the words of words.awk.

END {
  for (i = 1; i <= count; i++) {
    word = words[i]
    if (word ~ /^--?(plugin|load-pass-plugin)$/) print words[++i]
    else if (sub(/^--?(plugin|load-pass-plugin)=/, "", word)) print word
    else if (sub(/^--?plugin-opt=/, "", word) && word ~ /^[^-]*\//) print word
    else if (word ~ /^--?plugin-opt$/ && words[i + 1] ~ /^[^-]*\//) print words[++i]
    else if (word ~ /^--?mllvm/) print "/src"
  }
}
