import type { Answer } from '../../src/model/verdict.ts'

/** The answer to a push. @throws when its body was changed before it was answered: a part may still be on its way */
export async function answerTo(body: Uint8Array, ask: () => Promise<Answer>): Promise<Answer> {
  const sent = Buffer.from(body)
  const answer = await ask()
  if (!sent.equals(body)) throw new Error('the body of a push was changed before it was answered')
  return answer
}
