/** Text of an answer in UTF-8 that came in pieces. They must not be used any more: their memory is freed. */
export function answerText(pieces: readonly Buffer[]): string {
  const [only] = pieces
  if (only && pieces.length === 1) return only.toString('utf8')
  const whole = Buffer.concat(pieces)
  for (const piece of pieces) free(piece)
  return whole.toString('utf8')
}

/** Frees memory that holds this piece and nothing else, before V8 counts much of it and collects its whole heap. */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0)
}
