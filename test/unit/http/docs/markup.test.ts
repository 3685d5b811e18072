import { expect, it } from 'vitest'
import { html, prose } from '../../../../src/http/docs/markup.ts'

it('escapes values in templates and keeps templates', () => {
  expect(html`<a title="${'"<b>'}">${['&', html`<i>`, null]}</a>`.text).toBe('<a title="&#34;&#60;b&#62;">&#38;<i></a>')
})

it('renders paragraphs, lists and code of descriptions', () => {
  expect(prose('`<x>` & y\n\n- a\n- b').text).toBe(
    '<p><code>&#60;x&#62;</code> &#38; y</p><ul><li>a</li><li>b</li></ul>',
  )
})
