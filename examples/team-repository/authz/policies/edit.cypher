---
description: Editors of a team edit its documents.
subject: Person
actions: [edit]
resource: Document
---
MATCH (subject:Person)-[:MEMBER {role: 'editor'}]->(:Team)-[:OWNS]->(resource:Document)
