import { z } from 'zod'

const source = z.record(z.string(), z.unknown()).meta({
  description:
    'A feed, a pool or a call on a chain, an address with the hour in it, another price, or a fixed number: collectors/README.md shows each.',
  examples: [{ fixed: 1 }],
})

/** The prices of a file by name. Their sources are checked by the shipped collector that reads them. */
export const prices = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/), z.array(source).min(1))
  .prefault({})
  .meta({
    description:
      'US dollars of the hour by a name; the first source that answers stands. Without an answer, what needs the price fails.',
    examples: [{ ETH: [{ chain: 'ethereum', feed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', maxAge: 4500 }] }],
  })
