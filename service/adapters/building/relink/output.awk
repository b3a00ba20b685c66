# Prints the file that a linker's command line creates if it is a shared object. Takes the words of words.awk.

END {
  for (i = 1; i <= count; i++) {
    if (words[i] ~ /^(--?shared|-Bshareable)$/) is_shared = 1
    else if (words[i] ~ /^(-o|--output)$/) output = words[++i]
    else if (words[i] ~ /^--output=/) output = substr(words[i], length("--output=") + 1)
    else if (words[i] ~ /^-o/) output = substr(words[i], length("-o") + 1)
  }
  if (!is_shared || output == "") exit 1
  print output
}
