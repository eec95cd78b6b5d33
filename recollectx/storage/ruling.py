"""Trust in sources, and the settings kept with the data: the rule of belief, the embedding model."""

import json

from sqlalchemy import delete, select, update

from recollectx import changes as ch
from recollectx.claims import check_unit
from recollectx.db.tables import AssertionRow, ClaimRow, SettingRow, TrustRow, VectorRow
from recollectx.propagation import Rule, rule_from
from recollectx.storage.linking import Linking
from recollectx.storage.reading import MODEL, RULE
from recollectx.storage.rows import table_of


class Ruling(Linking):
    """What holds for many claims at once."""

    def _trust(self, change: ch.Trust) -> None:
        check_unit(change.level, "trust")
        table = table_of(TrustRow)
        self.flush()
        self.conn.execute(
            update(table)
            .where(
                table.c.source == change.source,
                table.c.tx_to.is_(None),
                table.c.scope.is_not_distinct_from(change.scope),
            )
            .values(tx_to=self.seq)
        )
        self.begin(TrustRow, source=change.source, scope=change.scope, level=change.level)
        self._trusted(change.source, change.scope, self.log("trust", change.scope, None))

    def _trusted(self, source: str, scope: str | None, n: int) -> None:
        """The trust in a source changed."""
        self.reader.forget_trust()
        self.flush()
        said = select(AssertionRow.claim).where(AssertionRow.source == source, AssertionRow.tx_to.is_(None))
        if scope is not None:
            said = said.join(ClaimRow, ClaimRow.pk == AssertionRow.claim).where(ClaimRow.scope == scope)
        for (pk,) in self.conn.execute(said.distinct()).all():
            self._shake(pk, n)

    def _configure(self, change: ch.Configure) -> None:
        table = table_of(SettingRow)
        self._only_added = False
        self.flush()
        self.conn.execute(
            update(table).where(table.c.name == change.name, table.c.tx_to.is_(None)).values(tx_to=self.seq)
        )
        self.begin(SettingRow, name=change.name, value=json.dumps(dict(change.value)))
        n = self.log("configure", None, None, detail=change.name)
        if change.name == MODEL:
            self.conn.execute(delete(VectorRow))
            self._model_held, self._dimension = (self.seq, json.dumps(dict(change.value))), None
            self.bare = True
        if change.name == RULE:
            self._ruled(rule_from(change.value), n)

    def _ruled(self, rule: Rule, n: int) -> None:
        """Confidence follows by another rule from now on."""
        self.rule = rule
        for (pk,) in self.conn.execute(select(ClaimRow.pk).where(ClaimRow.erased.is_(None))).all():
            self._shake(pk, n)
