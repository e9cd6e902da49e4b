import { expect, it } from 'vitest'
import { fractionOf } from '../../collectors/values/fraction.ts'
import { ofItems } from '../../collectors/values/items.ts'
import { nextTick } from '../../src/edge/next-tick.ts'

type Address = `0x${string}`
const addresses = (count: number) => Array.from({ length: count }, (_, place): Address => `0x${place.toString(16)}`)

it.for([
  { recent: 0, now: 3, most: 3 },
  { recent: 1_000, now: 1_000, most: 1_000 },
  { recent: 999, now: 3_501, most: 1_000 },
  { recent: 2_500, now: 2_400, most: 1_000 },
])('of $now items, $recent of which were known, at most a thousand are read at once', async ({ recent, now, most }) => {
  const list = Object.assign(async () => addresses(now), { recent: async () => addresses(recent) })
  let [underWay, highest] = [0, 0]
  const begun: Address[] = []
  const begin = (item: Address) => {
    begun.push(item)
    underWay += 1
    highest = Math.max(highest, underWay)
    const value = nextTick().then(() => {
      underWay -= 1
      // One that has no value holds up no other.
      if (Number(item) % 7 === 0) throw new Error('reverted')
      return fractionOf(Number(item))
    })
    value.catch(() => {})
    return (_label: string) => value
  }
  const items = await ofItems(list, 'pools', begin, ['Value'])
  const values = await Promise.allSettled(items.map(async ({ of }) => (await of)('Value')))
  expect(values.map(each => each.status === 'fulfilled' && Number(each.value))).toEqual(
    addresses(now).map(item => Number(item) % 7 !== 0 && Number(item)),
  )
  expect(begun).toEqual(addresses(Math.max(recent, now)))
  expect(highest).toBe(most)
})
