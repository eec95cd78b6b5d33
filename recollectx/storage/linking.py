"""Edges that come and go, and what they shake."""

from recollectx import changes as ch
from recollectx.claims import CURRENT
from recollectx.db.tables import EdgeRow
from recollectx.edges import EPISTEMIC, Edge, Relation
from recollectx.errors import InvalidClaim, NotFound, ScopeError
from recollectx.instants import from_micros
from recollectx.storage.claim_rows import micros
from recollectx.storage.inheriting import contradicting, inherited
from recollectx.storage.reading import StoredEdge
from recollectx.storage.settling import Settling


class Linking(Settling):
    """The edges of one transaction."""

    def _link(self, change: ch.Link) -> None:
        edge = change.edge
        (src, src_scope), (dst, dst_scope) = self._find(edge.src), self._find(edge.dst)
        _check_ends(edge, src, dst, src_scope, dst_scope)
        same = self._standing(src, dst, edge.relation, src_scope == dst_scope)
        at = micros(change.at)
        if edge.relation == Relation.DERIVES:
            same = [old for old in same if old.derivation == edge.derivation]
        for old in same:
            if (old.strength, old.at) == (edge.strength, at):
                return
            self.close(EdgeRow, old.pk)
        self.begin(
            EdgeRow,
            dst=dst,
            relation=edge.relation,
            src=src,
            strength=edge.strength,
            derivation=edge.derivation,
            at=at,
        )
        n = self.log("link", dst_scope, dst, src, edge.relation)
        self._joined(edge.relation, src, dst, n)

    def _unlink(self, change: ch.Unlink) -> None:
        (src, src_scope), (dst, scope) = self._find(change.src), self._find(change.dst)
        standing = self._standing(src, dst, change.relation, src_scope == scope)
        if not standing:
            raise NotFound(f"{change.src} stands in no relation {change.relation!r} to {change.dst}")
        for old in standing:
            self.close(EdgeRow, old.pk)
            n = self.log("unlink", scope, old.dst, old.src, change.relation)
            self._joined(change.relation, old.src, old.dst, n)

    def _joined(self, relation: str, src: int, dst: int, n: int) -> None:
        """An edge came or went."""
        if relation in EPISTEMIC:
            self._shake(dst, n)
            if relation == Relation.CONTRADICTS:
                self._shake(src, n)
            if relation == Relation.DERIVES:
                self._unsure.add(dst)
        if relation == Relation.SUPERSEDES:
            self._unsure.add(dst)
            self._freed.add(dst)

    def _standing(self, src: int, dst: int, relation: str, one_scope: bool) -> list[StoredEdge]:
        """The edges between two claims that say `relation`; a contradiction read both ways is stored once."""
        same = [old for old in self.reader.edges_out([src]) if (old.dst, old.relation) == (dst, relation)]
        if relation == Relation.CONTRADICTS and one_scope and self.rule.symmetric_contradiction:
            same += [
                old for old in self.reader.edges_out([dst]) if (old.dst, old.relation) == (src, relation)
            ]
        return same

    def finish(self) -> None:
        """Settle statuses, what they bring back into doubt, and confidences; write the transaction's own row."""
        self._restand()
        self._inherit()
        super().finish()

    def _inherit(self) -> None:
        """Let what came back contradict the values that it now holds beside."""
        if not self._back:
            return
        for pk, claim in sorted(self.reader.claims(self._back).items()):
            if claim.status in CURRENT:
                for edge in inherited(self.reader, pk, self._bereft[pk]):
                    self._link(ch.Link(edge))

    def _bridge(self, pk: int) -> None:
        """What a claim took the place of is superseded, or corrected, by what took its own, once it is gone itself."""
        taking = (Relation.SUPERSEDES, Relation.CORRECTS)
        below = [edge for edge in self.reader.edges_out([pk]) if edge.relation in taking]
        for edge in below:
            if edge.relation == Relation.SUPERSEDES:
                self._freed.add(edge.dst)
                self._bereft[edge.dst] |= contradicting(self.reader, [pk]) | self._bereft[pk]
        above = [edge for edge in self.reader.edges_in([pk]) if edge.relation in taking]
        ids = self.reader.identities([edge.dst for edge in below] + [edge.src for edge in above])
        for over in above:
            for under in below:
                if over.relation != under.relation or over.src == under.dst:
                    continue
                if not self._standing(over.src, under.dst, over.relation, False):
                    at = None if over.at is None else from_micros(over.at)
                    self._link(ch.Link(Edge(ids[over.src].id, ids[under.dst].id, over.relation), at))


def _check_ends(edge: Edge, src: int, dst: int, src_scope: str, dst_scope: str) -> None:
    if src == dst:
        raise InvalidClaim(f"{edge.src} and {edge.dst} are the same claim; it cannot bear on itself")
    if src_scope not in (dst_scope, "global"):
        raise ScopeError(
            f"claim {edge.src} is in another scope than {edge.dst}; edges join claims of one scope or start in global"
        )
