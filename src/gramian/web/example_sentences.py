"""Sentences to begin with, of several kinds, in the languages of the treebanks that gramian knows; written for this page."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("two readings", "The old man saw the boat with a telescope."),
        ("a question", "Which of the letters did your sister answer first?"),
        ("a relative clause", "The neighbour whose garden we admired has moved to the coast."),
        ("coordination", "She sings, plays the cello and teaches children on Saturdays."),
        ("a long sentence", "Although the ferry had left an hour earlier than planned, most passengers, some of whom had never "
         "been at sea before, arrived in the harbour in time to watch the last fishing boats come home."),
        ("reported speech", "The minister said that nobody had told her how much the bridge would cost."),
        ("numbers", "Sales rose 12.5 % to 3.4 million dollars in the third quarter."),
        ("an order", "Please close the window before you leave."),
        ("a garden path", "The horse raced past the barn fell."),
        ("a whole text", "It rained all morning. At noon the clouds broke, and we walked down to the river. "
         "Nobody had told us that the bridge was closed. Would you have turned back?"),
    ),
    "de": (
        ("ein Satz", "Der alte Mann sah das Boot mit dem Fernrohr."),
        ("eine Frage", "Wann fährt der nächste Zug nach Leipzig?"),
        ("ein Nebensatz", "Sie weiß, dass der Nachbar gestern umgezogen ist."),
    ),
    "es": (
        ("una frase", "El anciano vio el barco con un telescopio."),
        ("una pregunta", "¿Cuándo sale el próximo tren?"),
        ("una subordinada", "La vecina dijo que nadie conocía el precio del puente."),
        ("una coordinación", "Los niños cantan, bailan y juegan en la plaza."),
    ),
    "fr": (
        ("une phrase", "Le vieil homme regarde le bateau avec une longue-vue."),
        ("une question", "Quand part le prochain train ?"),
        ("une relative", "La voisine dont nous admirions le jardin a déménagé."),
        ("une coordination", "Elle chante, joue du violon et enseigne le samedi."),
    ),
    "id": (
        ("kalimat", "Anak itu membaca buku di rumah neneknya."),
        ("pertanyaan", "Kapan kereta berikutnya berangkat?"),
        ("anak kalimat", "Ibu mengatakan bahwa jembatan itu sudah ditutup."),
    ),
    "is": (
        ("setning", "Gamli maðurinn sá bátinn við ströndina ."),
        ("spurning", "Hvenær kemur þú heim ?"),
        ("aukasetning", "Hún sagði að enginn hefði séð hann ."),
    ),
    "ja": (
        ("文", "彼 は 庭 で 古い 本 を 読ん だ 。"),
        ("質問", "あなた は いつ 帰り ます か 。"),
        ("複文", "雨 が 降っ た ので 、 私たち は 家 に い た 。"),
    ),
    "pt": (
        ("uma frase", "O velho viu o barco com um telescópio ."),
        ("uma pergunta", "Quando parte o próximo comboio ?"),
        ("uma subordinada", "A vizinha disse que ninguém sabia o preço da ponte ."),
    ),
}  # fmt: skip
"""By language: what kind of sentence it is, and the sentence."""
