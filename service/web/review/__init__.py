"""Take webhooks, page actions and the questions of Gerrit's Checks tab."""
