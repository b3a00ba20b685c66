# Prints what a linker's command line creates, `shared` or `program` and the path, and then its words, one a line.
#
# Takes the words of words.awk. Fails for partial links, which create object files.

END {
  output = "a.out"
  for (i = 1; i <= count; i++) {
    if (words[i] ~ /^(--?shared|-Bshareable)$/) is_shared = 1
    else if (words[i] ~ /^(-r|-i|-Ur|--?relocatable)$/) exit 1
    else if (words[i] ~ /^(-o|--output)$/) output = words[++i]
    else if (words[i] ~ /^--output=/) output = substr(words[i], length("--output=") + 1)
    else if (words[i] ~ /^-o/) output = substr(words[i], length("-o") + 1)
  }
  print (is_shared ? "shared " : "program ") output
  for (i = 1; i <= count; i++) print words[i]
}
