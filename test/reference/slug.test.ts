import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { slug } from '../../src/reference/routes.ts'

describe('a slug', () => {
  it.each([
    ['awesome-vault_2', 'awesome-vault_2'],
    ['Awesome Vault!', 'Awesome-Vault-'],
    ['a/b.c', 'a-b-c'],
    ['größe', 'gr--e'],
    ['a🌊b', 'a-b'],
    ['../etc', '---etc'],
    ['a\u0000b\n', 'a-b-'],
    ['\ud800x', '-x'],
    ['', ''],
  ])('of %j is %j', (id, expected) => {
    expect(slug(id)).toBe(expected)
  })

  it('is its own slug, has one character for each of the id, and only allowed ones', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), id => {
        expect(slug(slug(id))).toBe(slug(id))
        expect(slug(id)).toHaveLength([...id].length)
        expect(slug(id)).toMatch(/^[A-Za-z0-9_-]*$/)
      }),
    )
  })
})
