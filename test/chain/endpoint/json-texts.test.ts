import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonTexts } from '../../../src/chain/endpoint/sockets.ts'

it('whole texts come out of a stream, however it is cut', () => {
  const messages = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(
      messages,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      fc.boolean(),
      (sent, cuts, lines) => {
        const stream = sent.map(message => JSON.stringify(message)).join(lines ? '\n' : '')
        const framing = jsonTexts()
        const received: string[] = []
        for (let from = 0, index = 0; from < stream.length; index++) {
          const size = cuts[index % cuts.length] ?? 1
          received.push(...framing.push(stream.slice(from, from + size)))
          from += size
        }
        expect(received.map(text => JSON.stringify(JSON.parse(text)))).toEqual(sent.map(text => JSON.stringify(text)))
      },
    ),
  )
})
