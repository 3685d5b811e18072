// The editor of Cypher: CodeMirror with the keywords of the grammar. Loaded when the first editor is shown.
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { Annotation, Compartment, EditorState, type Extension, Prec } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { cypherName } from '../../../kernel/text/cypher-names.ts'
import type { CypherCompletion, CypherFinding } from './cypher-language.ts'
import { cypherTokens } from './cypher-tokens.ts'

/** The functions that an editor calls. */
interface CypherEditorEvents {
  onInput(text: string): void
  /** Ctrl+Enter or Cmd+Enter. */
  onRun(): void
  complete(text: string, offset: number, signal: AbortSignal): Promise<readonly CypherCompletion[]>
}

/** An editor in the page. */
export interface CypherEditorHandle {
  /** Replaces the text, unless the editor has it already. */
  setText(text: string): void
  setReadOnly(isReadOnly: boolean): void
  setFindings(findings: readonly CypherFinding[]): void
  /** Moves the focus to an offset. */
  focusAt(offset: number): void
  focus(): void
  destroy(): void
}

/** Text that the page sets is no input of the user. */
const fromPage = Annotation.define<boolean>()

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--code-keyword)', fontWeight: '600' },
  { tag: [tags.string, tags.number, tags.atom], color: 'var(--code-value)' },
  { tag: tags.comment, color: 'var(--text-soft)', fontStyle: 'italic' },
  { tag: tags.typeName, color: 'var(--code-type)' },
  { tag: tags.macroName, color: 'var(--code-parameter)' },
  { tag: tags.function(tags.variableName), color: 'var(--code-function)' },
  { tag: [tags.operator, tags.punctuation, tags.bracket], color: 'var(--text-soft)' },
])

/** The sizes and colours are in the style sheet; these replace the ones of the library. */
const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)', padding: '9px 0', lineHeight: '1.6' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--text-soft)', border: 'none', paddingLeft: '4px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--accent-ground)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-ground)',
    outline: '1px solid var(--accent)',
  },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius-small)',
    backgroundColor: 'var(--raised)',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '240px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'var(--accent-ground)',
    color: 'var(--text)',
  },
  '.cm-completionDetail': { color: 'var(--text-soft)', fontStyle: 'normal', fontFamily: 'var(--sans)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '650' },
  '.cm-diagnostic': { padding: '6px 10px', fontFamily: 'var(--sans)' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-lintRange-error': { backgroundImage: 'none', borderBottom: '2px dotted var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', borderBottom: '2px dotted var(--warn)' },
})

const completionDetails: Readonly<Record<CypherCompletion['kind'], string>> = {
  label: 'label',
  'relationship-type': 'relationship',
  property: 'property',
  parameter: 'parameter',
  variable: 'variable',
  function: 'function',
  keyword: 'keyword',
}

/** The order of the kinds in one list. */
const boosts: Partial<Record<CypherCompletion['kind'], number>> = { variable: 2, keyword: 1 }

/** The kinds of names that may be any text. */
const quotedKinds: ReadonlySet<string> = new Set(['label', 'relationship-type', 'property'])

/** Shows an editor. `labelledBy`, `describedBy`: ids of elements. */
export function openCypherEditor(
  parent: HTMLElement,
  text: string,
  events: CypherEditorEvents,
  { labelledBy, describedBy, isReadOnly }: { labelledBy: string; describedBy: string; isReadOnly: boolean },
): CypherEditorHandle {
  const readOnly = new Compartment()
  const readOnlyExtension = (is: boolean): Extension => EditorState.readOnly.of(is)
  const run = (): boolean => {
    // The list would cover the answer.
    closeCompletion(view)
    events.onRun()
    return true
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? ''),
        EditorView.contentAttributes.of({
          'aria-labelledby': labelledBy,
          'aria-describedby': describedBy,
          'aria-multiline': 'true',
        }),
        readOnly.of(readOnlyExtension(isReadOnly)),
        Prec.highest(EditorView.domEventHandlers({ keydown: leaveByTab })),
        keymap.of([{ key: 'Mod-Enter', run, preventDefault: true }]),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({
          override: [(context) => completionsOf(context, events)],
          icons: false,
        }),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: replaceSelection }),
        StreamLanguage.define(cypherTokens),
        syntaxHighlighting(highlighting),
        theme,
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.updateListener.of(({ docChanged, state, transactions }) => {
          const isInput = transactions.some((one) => one.docChanged && one.annotation(fromPage) !== true)
          if (docChanged && isInput) events.onInput(state.doc.toString())
        }),
      ],
    }),
  })
  return {
    setText(next) {
      if (view.state.doc.toString() === next) return
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: next },
        annotations: fromPage.of(true),
      })
    },
    setReadOnly: (is) => view.dispatch({ effects: readOnly.reconfigure(readOnlyExtension(is)) }),
    setFindings: (findings) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          findings.map((one) => toDiagnostic(one, view)),
        ),
      ),
    focusAt(offset) {
      const at = Math.min(offset, view.state.doc.length)
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true })
      view.focus()
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  }
}

/** Escape, then Tab leaves the editor, also if Escape closes a list; any other key ends that. The library allows two seconds. */
function leaveByTab({ key }: KeyboardEvent, view: EditorView): boolean {
  if (key === 'Escape') view.setTabFocusMode(true)
  else if (!keysBeforeTab.has(key)) view.setTabFocusMode(false)
  return false
}

const keysBeforeTab: ReadonlySet<string> = new Set(['Tab', 'Shift', 'Control', 'Alt', 'Meta'])

/**
 * Replaces a selection by typed text. The browser would keep the style of the selection as an inline style, which the content
 * security policy refuses with a message.
 */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { inputType, data, isComposing } = event
  const { state } = view
  const { from, to, empty } = state.selection.main
  if (inputType !== 'insertText' || data === null || isComposing || empty || state.readOnly) return false
  event.preventDefault()
  const insert = () => state.update(state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true })
  const isHandled = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert))
  if (!isHandled) view.dispatch(insert())
  return true
}

function toDiagnostic({ start, end, severity, message, suggestion }: CypherFinding, view: EditorView) {
  const { length } = view.state.doc
  const from = Math.min(start, length)
  const actions =
    suggestion === null
      ? []
      : [
          {
            name: `Write ${suggestion}`,
            apply: (target: EditorView, first: number, last: number) =>
              target.dispatch({ changes: { from: first, to: last, insert: suggestion } }),
          },
        ]
  return { from, to: Math.max(from, Math.min(end, length)), severity, message, actions }
}

async function completionsOf(context: CompletionContext, events: CypherEditorEvents): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\p{L}\p{M}\p{N}_$]+/u)
  const isAfterSign = context.matchBefore(/[:.|&{]\s?/) !== null
  if (word === null && !context.explicit && !isAfterSign) return null
  const control = new AbortController()
  context.addEventListener('abort', () => control.abort())
  try {
    const found = await events.complete(context.state.doc.toString(), context.pos, control.signal)
    return {
      from: word?.from ?? context.pos,
      validFor: /^[\p{L}\p{M}\p{N}_$]*$/u,
      options: found.map(({ text, kind }) => ({
        label: text,
        detail: completionDetails[kind],
        type: kind,
        boost: boosts[kind] ?? 0,
        apply: quotedKinds.has(kind) ? cypherName(text) : text,
      })),
    }
  } catch {
    // Without the service the text can still be written.
    return null
  }
}
