// A model as fields.
import { blockLines, type DocumentKindView, type PageDocument, sharedLines } from './document-kind.ts'

/** A stored model. */
export interface PageModel extends PageDocument {
  readonly model: string
}

/** The kind. */
export const modelKind: DocumentKindView<PageModel> = {
  path: 'models',
  noun: 'model',
  parameter: 'model',
  list: 'model',
  empty: {
    name: 'model',
    display_name: '',
    description: '',
    model: 'DEFINE (u:User)-[:can_read]->(d:Document) AS {\n  MATCH (u)-[:OWNER]->(d)\n}',
  },
  formOf: ({ name, display_name, description, model }) => ({ name, display_name, description, model }),
  bodyOf({ display_name, description, model = '' }) {
    if (model.trim() === '') return { problems: ['Model: write types or definitions, or delete the model.'] }
    return { body: { display_name, description, model } }
  },
  textOf: (form) => [...sharedLines(form), ...blockLines('model', form.model)].join('\n'),
}
