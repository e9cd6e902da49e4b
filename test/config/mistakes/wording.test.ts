import { expect, it } from 'vitest'
import { meant } from '../../../src/config/mistakes.ts'

it.each([
  ['kye', ['key', 'url'], 'key'],
  ['ulr', ['key', 'url'], 'url'],
  ['lable', ['url', 'label', 'unit'], 'label'],
  ['ehtereum', ['base', 'ethereum'], 'ethereum'],
  ['KEY', ['url', 'key'], 'key'],
  ['usee', ['use', 'id'], 'use'],
  ['protocol', ['prices', 'protocols'], 'protocols'],
  ['envv', ['env', 'file'], 'env'],
])('%s is taken for one of %j: %s', (word, known, wanted) => expect(meant(word, known)).toBe(wanted))

it.each([
  ['yek', ['key', 'url']],
  ['colour', ['chain', 'vault', 'unit']],
  ['', ['id']],
  ['x', []],
])('%j is like none of %j', (word, known) => expect(meant(word, known)).toBeUndefined())
