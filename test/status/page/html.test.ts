import fc from 'fast-check'
import { expect, it } from 'vitest'
import { html } from '../../../src/status/page/html.ts'

it('text is escaped for content and for attributes, markup and the template are kept', () => {
  const inner = html`<b>${'<i>'}</b>`
  expect(String(html`<p title="${`"'&`}">${inner}${[inner, '>']}${undefined}${1.5}</p>`)).toBe(
    '<p title="&quot;&#39;&amp;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b>&gt;1.5</p>',
  )
})

it('no text leaves its element or attribute', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      expect(String(html`${text}`)).toMatch(/^[^<>"']*$/)
    }),
  )
})
