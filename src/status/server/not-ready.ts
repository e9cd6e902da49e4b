/** Text of `/metrics` while there is no outbox to read. */
export const notReadyExposition = `# HELP tidegauge_ready 1 while nothing is late.
# TYPE tidegauge_ready gauge
tidegauge_ready 0
`
